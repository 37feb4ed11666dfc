"""Photos of many kinds, and what Pillow and torchvision make of them.

    photo_judge.py FOLDER [PHOTO...]

Writes photos (or takes those given) and, for each and for several geometries, the expected bytes; cases.txt lists them:
file, expected, channels, height, width, short side (0: stretch; -1: decoded only), kind. Where torchvision is there, it
resizes and cuts, and the formulas below, which stand in for it elsewhere, must agree with it.
"""
import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageOps

try:
    from torchvision import transforms
except ImportError:
    transforms = None

folder = Path(sys.argv[1])
random = np.random.default_rng(7)
cases = open(folder / "cases.txt", "w")


def cut(image, height, width, short):
    """As Resize(short) and CenterCrop((height, width)) do it; short 0: as Resize((height, width))."""
    if short == 0:
        ours = image.resize((width, height), Image.BILINEAR)
        theirs = transforms and transforms.Resize((height, width))(image)
    else:
        w, h = image.size
        size = (short, int(short * h / w)) if w <= h else (int(short * w / h), short)
        ours = image.resize(size, Image.BILINEAR)
        left, top = int(round((size[0] - width) / 2.0)), int(round((size[1] - height) / 2.0))
        ours = ours.crop((left, top, left + width, top + height))
        theirs = transforms and transforms.CenterCrop((height, width))(transforms.Resize(short)(image))
    assert theirs is None or np.array_equal(np.asarray(ours), np.asarray(theirs)), "torchvision cuts otherwise"
    return ours


def planes(image):
    array = np.asarray(image)
    return np.ascontiguousarray(array.transpose(2, 0, 1) if array.ndim == 3 else array[None])


count = 0


def expect(path, array, height, width, short, kind):
    global count
    name = f"expected{count}"
    count += 1
    array.tofile(folder / name)
    print(path, folder / name, array.shape[0], height, width, short, kind, file=cases)


def judge(path, kind, geometries, pixels=None):
    """`pixels`: what the photo is, where Pillow itself gets it wrong."""
    if pixels is None:
        image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    else:
        image = Image.fromarray(pixels)
    array = planes(image)
    if kind != "large" and kind != "shared":
        expect(path, array, image.size[1], image.size[0], -1, kind)
    for channels, height, width, short in geometries:
        wanted = image if channels == 3 else image.convert("L")
        expect(path, planes(cut(wanted, height, width, short)), height, width, short, kind)


usual = [(3, 224, 224, 256), (1, 28, 28, 32), (3, 48, 64, 0)]
few = [(3, 32, 32, 37)]


def picture(width, height):
    """Gradients, noise of all sizes, lines and letters."""
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x + y) * 7 % 256], -1)
    noise = random.integers(-60, 60, (height, width, 3))
    image = Image.fromarray(np.clip(base + noise * (x[..., None] > width // 2), 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for i in range(0, width, 9):
        draw.line((i, 0, width - i, height), fill=(i * 5 % 256, 0, 255), width=1)
    draw.text((width // 4, height // 3), "lwsvm: 0123456789", fill=(255, 255, 255))
    return image


def natural(width, height):
    """Like a photo: amplitudes fall as 1 / frequency, plus hard edges."""
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    amplitude = 1 / np.maximum(np.hypot(fx, fy), 1 / max(width, height))
    channels = []
    for _ in range(3):
        phase = np.exp(2j * np.pi * random.random((height, width // 2 + 1)))
        field = np.fft.irfft2(amplitude * phase, (height, width))
        channels.append(128 + 50 * field / field.std())
    image = Image.fromarray(np.clip(np.stack(channels, -1), 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for i in range(12):
        x, y = random.integers(0, width), random.integers(0, height)
        draw.ellipse((x, y, x + width // 9, y + height // 7), fill=tuple(int(v) for v in random.integers(0, 256, 3)))
    return image


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, bits, colour, rows, extra=b"", passes=None):
    """rows: bytes of each row, or of each row of each pass."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0 if passes is None else 1)
    data = zlib.compress(b"".join(b"\0" + row for row in (rows if passes is None else passes)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def exif(orientation, order="<"):
    return (b"Exif\0\0" + (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8) +
            struct.pack(order + "HHHIHH", 1, 0x112, 3, 1, orientation, 0) + b"\0\0\0\0")


def made():
    for number, (width, height) in enumerate([(300, 200), (201, 333), (1, 1), (1, 500), (700, 3), (256, 256), (257, 511),
                                              (640, 479), (33, 32), (1000, 224)]):
        path = folder / f"size{number}.png"
        picture(width, height).save(path)
        judge(path, "png", usual)
    image = picture(257, 190)
    for quality, subsampling, progressive in [(95, 0, False), (75, 2, False), (50, 1, True), (90, 2, True)]:
        path = folder / f"q{quality}-{subsampling}-{progressive}.jpg"
        image.save(path, quality=quality, subsampling=subsampling, progressive=progressive)
        judge(path, "jpeg", usual)
    image.convert("L").save(folder / "grey.jpg", quality=90)
    judge(folder / "grey.jpg", "jpeg", usual)
    image.convert("CMYK").save(folder / "cmyk.jpg", quality=90)
    judge(folder / "cmyk.jpg", "jpeg", usual)
    ink = Image.merge("CMYK", [Image.fromarray(random.integers(0, 256, (64, 80)).astype(np.uint8)) for _ in range(4)])
    ink.save(folder / "ink.jpg", quality=100)
    judge(folder / "ink.jpg", "jpeg", few)
    image.save(folder / "lossy.webp", quality=80)
    judge(folder / "lossy.webp", "webp", usual)
    image.save(folder / "lossless.webp", lossless=True)
    judge(folder / "lossless.webp", "webp", usual)

    see_through = image.copy()
    see_through.putalpha(Image.fromarray(random.integers(1, 256, (190, 257)).astype(np.uint8)))
    for name, options in [("alpha.png", {}), ("alpha.webp", {"lossless": True, "exact": True})]:
        see_through.save(folder / name, **options)
        judge(folder / name, "alpha", few, np.asarray(image))
    see_through.convert("LA").save(folder / "grey-alpha.png")
    judge(folder / "grey-alpha.png", "alpha", few)
    palette = image.quantize(64)
    palette.save(folder / "palette.png")
    judge(folder / "palette.png", "palette", few)
    palette.save(folder / "palette-transparent.png", transparency=5)
    judge(folder / "palette-transparent.png", "palette", few)
    image.quantize(3).save(folder / "palette2.png", bits=2)
    judge(folder / "palette2.png", "palette", few)
    image.convert("1").save(folder / "bits1.png")
    judge(folder / "bits1.png", "grey", few)
    image.convert("L").save(folder / "grey-transparent.png", transparency=17)
    judge(folder / "grey-transparent.png", "grey", few)

    for bits in (2, 4):
        values = random.integers(0, 1 << bits, (21, 40)).astype(np.uint8)
        rows = [bytes(sum(int(v) << (8 - bits * (k + 1)) for k, v in enumerate(row[i:i + 8 // bits]))
                      for i in range(0, 40, 8 // bits)) for row in values]
        (folder / f"grey{bits}.png").write_bytes(png(40, 21, bits, 0, rows))
        wide = (values * (255 // ((1 << bits) - 1))).astype(np.uint8)
        judge(folder / f"grey{bits}.png", "grey", few, np.repeat(wide[..., None], 3, 2))
    deep = random.integers(0, 65536, (45, 61, 3)).astype(">u2")
    (folder / "rgb16.png").write_bytes(png(61, 45, 16, 2, [row.tobytes() for row in deep]))
    judge(folder / "rgb16.png", "16 bit", few)  # Pillow itself
    (folder / "grey16.png").write_bytes(png(61, 45, 16, 0, [row[:, 0].tobytes() for row in deep]))
    upper = (deep[..., :1] >> 8).astype(np.uint8)  # Pillow clips these instead
    judge(folder / "grey16.png", "16 bit", few, np.repeat(upper, 3, 2))
    small = np.asarray(picture(37, 29))
    adam7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    passes = [small[y, x0::dx].tobytes() for y0, x0, dy, dx in adam7 for y in range(y0, 29, dy) if x0 < 37]
    (folder / "interlaced.png").write_bytes(png(37, 29, 8, 2, None, passes=passes))
    judge(folder / "interlaced.png", "png", few)
    gamma = png(37, 29, 8, 2, [row.tobytes() for row in small], chunk(b"gAMA", struct.pack(">I", 100000)))
    (folder / "gamma.png").write_bytes(gamma)
    judge(folder / "gamma.png", "png", few)

    for orientation in range(0, 10):
        block = exif(orientation, "<" if orientation % 2 else ">")
        image.save(folder / f"exif{orientation}.jpg", quality=90, exif=block)
        image.save(folder / f"exif{orientation}.webp", lossless=True, exif=block)
        rows = [row.tobytes() for row in small]
        (folder / f"exif{orientation}.png").write_bytes(png(37, 29, 8, 2, rows, chunk(b"eXIf", block[6:])))
        for end in ("jpg", "webp", "png"):
            judge(folder / f"exif{orientation}.{end}", "exif", few + [(3, 20, 30, 40)])

    for number, (width, height) in enumerate([(1100, 1201), (2003, 1501), (1501, 2300), (4099, 1100)]):
        path = folder / f"large{number}.jpg"
        natural(width, height).save(path, quality=90)
        judge(path, "large", usual)
    natural(1531, 1203).save(folder / "large-turned.jpg", quality=92, exif=exif(6))
    judge(folder / "large-turned.jpg", "large", usual)


if len(sys.argv) > 2:
    for given in sys.argv[2:]:
        judge(Path(given), "shared", [(3, 224, 224, 256)])
else:
    made()
