"""The data of bench/compare_liblinear.py, as LIBSVM files: pixels / 256, random features of them, and something like text."""
import gzip
import os
import pathlib
import subprocess

import numpy as np

from turns import BUILD

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lwsvm"
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def idx(path, header, count):
    compressed = path.with_name(path.name + ".gz")
    with gzip.open(compressed) if compressed.exists() else open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)[:count]


def images(folder, count):
    x = idx(folder / "train-images-idx3-ubyte", 16, count * 784).reshape(-1, 784)
    return x / 256, idx(folder / "train-labels-idx1-ubyte", 8, count).astype(int)


def mnist(count):
    if not (CACHE / "mnist/train-images-idx3-ubyte").exists():
        subprocess.run([BUILD / "src/cli/lwsvm", "data", "get", "mnist"], check=True)
    return images(CACHE / "mnist", count)


def fashion_mnist(count):
    return images(FASHION, count)


def features(count):
    """256 random ReLU features of Fashion-MNIST: dense, unlike pixels."""
    x, y = fashion_mnist(count)
    return np.maximum(x @ np.random.default_rng(1).normal(size=(784, 256)) / 28, 0), y


def write_dense(path, x, y):
    with open(path, "w") as file:
        for row, label in zip(x, y):
            cells = " ".join(f"{j + 1}:{row[j]:.6g}" for j in np.flatnonzero(row))
            file.write(f"{label} {cells}\n")


def write_text(path, count, columns=50_000, share=0.001, classes=20):
    """Rows of `share` * columns words: half of them from a class's own thousand, half from all, of length 1."""
    random = np.random.default_rng(2)
    own = random.integers(1, columns + 1, size=(classes, 1000))
    words = int(share * columns)
    with open(path, "w") as file:
        for _ in range(count):
            label = random.integers(classes)
            row = np.concatenate([own[label][random.zipf(1.3, words // 2) % 1000],
                                  random.integers(1, columns + 1, words - words // 2)])
            row = np.unique(row)
            cells = " ".join(f"{j}:{1 / np.sqrt(len(row)):.6g}" for j in row)
            file.write(f"{label} {cells}\n")


def write(name, path, count):
    if name == "text":
        write_text(path, min(count, 20_000))
    else:
        write_dense(path, *{"mnist": mnist, "fashion-mnist": fashion_mnist, "features": features}[name](count))
