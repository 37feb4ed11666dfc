"""Photos in a folder per class, as arrays: a network that was trained on them here, then refined.

    python3 examples/photos.py FOLDER            # FOLDER/train/CLASS/*.jpg and FOLDER/val/CLASS/*.jpg; needs Pillow

Without a folder on pictures that it draws itself.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    from PIL import Image, ImageDraw, UnidentifiedImageError
except ImportError:
    print("Pillow is not installed: apt install python3-pil")
    sys.exit(77)

import lwsvm

SIDE = 32


def drawn(folder):
    """Red and green discs and squares of many sizes, with noise."""
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


def photos(folder):
    """All pictures below, short side to SIDE, centre cut out; the folder's name is the label."""
    pictures, labels = [], []
    for path in sorted(folder.glob("*/*")):
        try:
            image = Image.open(path).convert("RGB")
        except UnidentifiedImageError:
            continue
        shrink = SIDE / min(image.size)
        image = image.resize([max(SIDE, round(n * shrink)) for n in image.size], Image.Resampling.BILINEAR)
        left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
        pictures.append(np.asarray(image.crop((left, top, left + SIDE, top + SIDE))))
        labels.append(path.parent.name)
    return np.stack(pictures), labels  # N x H x W x C, bytes; words


with tempfile.TemporaryDirectory() as scratch:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else drawn(Path(scratch))
    x, y = photos(folder / "train")
    x_test, y_test = photos(folder / "val")
print(f"{len(x)} photos to learn from, {len(x_test)} to test on: {', '.join(sorted(set(y)))}")
base = lwsvm.train("conv16x5-relu-pool2-conv32x3-relu-pool2-dense64-relu", x, y, epochs=5, batch=50, augment="flip",
                   validation=0.2, test=(x_test, y_test))
print("trained:", base.end)
result = lwsvm.refine(base.model, x, y, passes=3, augment="flip", validation=0.2, test=(x_test, y_test))
print("refined:", result.end)
print("the first photo shows", result.model.predict(x_test[:1])[0], "and is of", y_test[0])
result.model.save("photos.onnx")
