#!/usr/bin/python3
"""lwsvm.PiecewiseLinearClassifier as it comes beside scikit-learn's MLPClassifier, a hidden layer of 64 units each.

  PYTHONPATH=build/release/python bench/python_estimators.py

The data come with scikit-learn or are made by it. Accuracy is the mean of five folds, seconds are those of the processor for
all five. What is an accuracy apart by chance is said by the standard error of the folds' mean."""
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lwsvm

warnings.filterwarnings("ignore")  # that 200 iterations were not enough for some

SETS = {
    "digits": load_digits(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast_cancer": load_breast_cancer(return_X_y=True),
    "iris": load_iris(return_X_y=True),
    "moons, noise 0.2": make_moons(2000, noise=0.2, random_state=0),
    "classification, 40 features, 5 classes": make_classification(5000, 40, n_informative=15, n_classes=5, random_state=0),
}
MODELS = {
    "MLPClassifier": lambda: make_pipeline(StandardScaler(), MLPClassifier((64,), random_state=0)),
    "PiecewiseLinearClassifier": lambda: lwsvm.PiecewiseLinearClassifier(random_state=0, threads=1),
}

print("| data | samples | " + " | ".join(MODELS) + " |\n|---|---|" + "---|" * len(MODELS))
for name, (X, y) in SETS.items():
    cells = []
    for make in MODELS.values():
        start = time.process_time()
        right = cross_val_score(make(), X.astype(np.float32), y, cv=5)
        seconds = time.process_time() - start
        cells.append(f"{100 * right.mean():.2f} ± {100 * right.std() / 5**0.5:.2f}%, {seconds:.1f} s")
    print(f"| {name} | {len(y):,} | " + " | ".join(cells) + " |", flush=True)
