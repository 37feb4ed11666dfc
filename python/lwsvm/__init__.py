"""lwsvm: train and refine piecewise linear networks without a learning rate.

    result = lwsvm.refine("base.onnx", x, y, time_limit="10m")    # or "mnist", or a folder, in the place of x and y
    result.model.save("better.onnx")

    lwsvm.refine_module(torch_net, x, y)                          # a torch.nn.Module, in place
    lwsvm.LinearSVMClassifier(lam="auto").fit(X, y)               # scikit-learn estimators
    lwsvm.PiecewiseLinearClassifier("dense64-relu").fit(X, y)

What is wrong with what was given is an `lwsvm.Error` with the words of the command line. Ctrl-C ends a run with the best
network so far.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._core import Error, version as _version

__version__: str = _version()

# Where each name is defined. What is not used is not loaded: numpy, scikit-learn and PyTorch take longer than all of lwsvm.
_HOME = {
    "Data": "_data",
    "Evaluation": "_network",
    "Layer": "_network",
    "LinearSVMClassifier": "_estimators",
    "Network": "_network",
    "PiecewiseLinearClassifier": "_estimators",
    "Quality": "_result",
    "RefineResult": "_result",
    "TrainResult": "_result",
    "Update": "_result",
    "refine": "_runs",
    "refine_module": "_torch",
    "train": "_runs",
}

__all__ = ["Error", "__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lwsvm' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
