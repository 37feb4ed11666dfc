"""Photos in a folder per class: a network that is trained on them here, then refined.

    python3 examples/photos.py FOLDER            # FOLDER/CLASS/*.jpg, or FOLDER/train/CLASS/*.jpg and FOLDER/val/CLASS/*.jpg

lwsvm itself reads the photos (JPEG, PNG, WebP), turns them upright, brings them to 32 x 32 and keeps them decoded. Without a
folder: on pictures that it draws itself, for which it needs Pillow.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import lwsvm

SIDE = 32


def drawn(folder):
    """Red and green discs and squares of many sizes, with noise."""
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        print("Pillow, which draws the pictures, is not installed: apt install python3-pil, or give a folder of photos")
        sys.exit(77)
    rng = np.random.default_rng(0)
    for part, count in (("train", 60), ("val", 20)):
        for name in ("discs", "squares"):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                image = Image.fromarray(rng.integers(0, 120, (48, 64, 3), dtype=np.uint8))
                radius, x, y = rng.integers(8, 20), rng.integers(22, 42), rng.integers(20, 28)
                colour = tuple(int(c) for c in rng.integers(100, 255, 3))
                shape = ImageDraw.Draw(image).ellipse if name == "discs" else ImageDraw.Draw(image).rectangle
                shape((x - radius, y - radius, x + radius, y + radius), fill=colour)
                image.save(folder / part / name / f"{i}.jpg")
    return folder


with tempfile.TemporaryDirectory() as scratch:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else drawn(Path(scratch))
    photos = lwsvm.Data(folder, crop=SIDE)
    print(photos)
    base = lwsvm.train("conv16x5-relu-pool2-conv32x3-relu-pool2-dense64-relu", photos, epochs=5, batch=50, augment="flip",
                       validation=0.2)
    print("trained:", base.end)
    # The folder again, by its name: the network remembers how its photos were cut.
    result = lwsvm.refine(base.model, folder, passes=3, augment="flip", validation=0.2)
    print("refined:", result.end)
    x_test, y_test = photos.arrays("test")
    if len(x_test):
        print("the first photo to test on shows", result.model.predict(x_test[:1])[0], "and is of", result.model.classes[y_test[0]])
    result.model.save("photos.onnx")
