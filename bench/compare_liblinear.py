#!/usr/bin/python3
"""lwsvm svm beside LIBLINEAR's Crammer-Singer machine on Fashion-MNIST's raw pixels / 256.

    bench/compare_liblinear.py [--samples 10000] [--runs 3] LAMBDA...

The same problem to the letter (-s 4 -B 1, C = 1 / (lambda N)), one thread each, interleaved, best of --runs. P of
LIBLINEAR is computed here from the weights it wrote. A table in Markdown.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
LWSVM = ROOT / "build/release/src/cli/lwsvm"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def load(count):
    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as file:
        x = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:count]
    with gzip.open(DATA / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:count]
    return x.astype(np.float64) / 256, y.astype(int)


def write_libsvm(path, x, y):
    with open(path, "w") as file:
        for row, label in zip(x, y):
            cells = " ".join(f"{j + 1}:{row[j]:.9g}" for j in np.flatnonzero(row))
            file.write(f"{label} {cells}\n")


def primal(w, b, x, y, lam):
    scores = x @ w.T + b
    margins = scores - scores[np.arange(len(y)), y][:, None] + 1
    margins[np.arange(len(y)), y] = 0
    return lam / 2 * ((w**2).sum() + (b**2).sum()) + margins.max(axis=1).mean()


def liblinear(folder, c, tolerance, lam, x, y):
    start = time.perf_counter()
    subprocess.run(["liblinear-train", "-q", "-s", "4", "-B", "1", "-c", repr(c), "-e", str(tolerance), "data", "m"],
                   cwd=folder, check=True)
    seconds = time.perf_counter() - start
    lines = (folder / "m").read_text().splitlines()
    labels = [int(v) for v in next(l for l in lines if l.startswith("label")).split()[1:]]
    columns = np.array([[float(v) for v in l.split()] for l in lines[lines.index("w") + 1:]])
    w = np.zeros_like(columns.T)
    w[labels] = columns.T
    return seconds, primal(w[:, :-1], w[:, -1], x, y, lam)


def lwsvm(folder, gap, lam):
    start = time.perf_counter()
    done = subprocess.run([LWSVM, "svm", "--train", "data", "--lambda", repr(lam), "--gap", str(gap), "--threads", "1",
                           "--json", "-q"], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start, json.loads(done.stdout)["objective"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lambdas", nargs="+", type=float)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    x, y = load(options.samples)
    print("| lambda | LIBLINEAR -e | P LIBLINEAR | P lwsvm | seconds LIBLINEAR | seconds lwsvm svm, 1 thread |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_libsvm(folder / "data", x, y)
        for lam in options.lambdas:
            for tolerance, gap in ((0.1, 0.001), (0.01, 0.0001)):
                theirs, ours = [], []
                for _ in range(options.runs):
                    theirs.append(liblinear(folder, 1 / (lam * options.samples), tolerance, lam, x, y))
                    ours.append(lwsvm(folder, gap, lam))
                (a, p), (b, q) = min(theirs), min(ours)
                print(f"| {lam} | {tolerance} | {p:.6f} | {q:.6f} | {a:.2f} | {b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
