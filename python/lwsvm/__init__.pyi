from ._core import Error as Error
from ._data import Data as Data
from ._estimators import LinearSVMClassifier as LinearSVMClassifier
from ._estimators import PiecewiseLinearClassifier as PiecewiseLinearClassifier
from ._network import Evaluation as Evaluation, Layer as Layer, Network as Network
from ._result import Quality as Quality, RefineResult as RefineResult, TrainResult as TrainResult, Update as Update
from ._runs import refine as refine, train as train
from ._torch import refine_module as refine_module

__version__: str
__all__ = [
    "Error",
    "__version__",
    "Data",
    "Evaluation",
    "Layer",
    "LinearSVMClassifier",
    "Network",
    "PiecewiseLinearClassifier",
    "Quality",
    "RefineResult",
    "TrainResult",
    "Update",
    "refine",
    "refine_module",
    "train",
]
