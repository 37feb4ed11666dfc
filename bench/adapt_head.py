#!/usr/bin/python3
"""The new last layer of `lwsvm adapt --depth head` beside scikit-learn's on the same features.

    bench/adapt_head.py LWSVM NETWORK.onnx FOLDER [--augment flip]

Features are those that lwsvm computes, read from its cache folder. LinearSVC and LogisticRegression choose C = 1 / (lambda N)
from the same grid of lambdas, relative to the mean of ||f||^2, by accuracy in five folds, and are then fitted to all training
samples, as lwsvm does it. Seconds are those of the processor, for the search and the final fit. Prints a line of JSON.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from PIL import Image
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore", ConvergenceWarning)
HEAD, KEY = 512, 64


def labels_of(folder):
    """Labels in the order of lwsvm: by class and name, without files that are no photos."""
    classes = sorted(os.listdir(folder))
    labels = []
    for label, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            try:
                with Image.open(os.path.join(folder, name, file)) as image:
                    if image.format in ("JPEG", "PNG", "WEBP"):
                        labels.append(label)
            except OSError:
                pass
    return np.array(labels)


def read_features(file):
    with open(file, "rb") as stream:
        stream.seek(HEAD)
        assert stream.read(8) == b"LWSVMFEA"
        version, size = np.frombuffer(stream.read(8), np.uint32)
        rows, width = np.frombuffer(stream.read(16), np.uint64).astype(int)
        stream.read(KEY)
        values = np.frombuffer(stream.read(int(rows * width * size)), np.float32 if size == 4 else np.float16)
    return values.reshape(rows, width).astype(np.float32)


def chosen(make, x, y, grid):
    """The fitted model and the processor's seconds of choosing lambda and fitting."""
    begin = time.process_time()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(x, y))
    right = [sum((make(1 / (lam * len(seen))).fit(x[seen], y[seen]).predict(x[rest]) == y[rest]).sum()
                 for seen, rest in folds) for lam in grid]
    lam = grid[int(np.argmax(right))]
    model = make(1 / (lam * len(y))).fit(x, y)
    return model, time.process_time() - begin, max(right) / len(y)


def main():
    program, network, folder = sys.argv[1:4]
    parts = {name: os.path.join(folder, name) for name in ("train", "val", "test") if os.path.isdir(os.path.join(folder, name))}
    test_part = parts.get("test", parts.get("val"))
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run([program, "adapt", network, "--data", folder, "--depth", "head", "--json", "-q", "--cache", scratch,
                              "--threads", "1", "-o", os.path.join(scratch, "out.onnx"), *sys.argv[4:]],
                             check=True, stdout=subprocess.PIPE, env=dict(os.environ, LWSVM_CLOCK="cpu"))
        ours = json.loads(run.stdout)
        features = read_features(glob.glob(os.path.join(scratch, "features", "*"))[0])
    y, y_test = labels_of(parts["train"]), labels_of(test_part)
    assert (len(features) - len(y_test)) % len(y) == 0, "labels and features do not fit"
    x, x_test = features[:len(y)], features[len(features) - len(y_test):]
    grid = [float((x.astype(float) ** 2).sum(1).mean()) * 10 ** e for e in np.arange(-0.5, -4.6, -0.5)]
    result = {"network": os.path.basename(network), "data": os.path.basename(folder.rstrip("/")),
              "lwsvm": {"test": ours["test_accuracy"], "seconds": ours["head_seconds"], "folds": ours["cross_validated"]}}
    for name, make in (("LinearSVC", lambda c: LinearSVC(C=c)),
                       ("LogisticRegression", lambda c: LogisticRegression(C=c, max_iter=200))):
        model, seconds, folds = chosen(make, x, y, grid)
        result[name] = {"test": float((model.predict(x_test) == y_test).mean()), "seconds": seconds, "folds": folds}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
