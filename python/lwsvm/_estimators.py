"""Classifiers for scikit-learn: pipelines, grid searches, cross-validation, pickles."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _core, _settings
from ._core import Error
from ._network import Network
from ._result import RefineResult, TrainResult
from ._runs import refine, train


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both have in common: labels, and decisions from scores."""

    classes_: npt.NDArray[Any]

    def _take_labels(self, y: Any) -> npt.NDArray[np.int32]:
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise Error(f"[data] y has one class, {self.classes_[0]!r}; two or more are needed")
        return np.ascontiguousarray(numbers, dtype=np.int32)

    def _class_names(self) -> list[str]:
        return [str(label) for label in self.classes_]

    def _scores(self, X: Any) -> npt.NDArray[Any]:
        raise NotImplementedError

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """A score per class, or with two classes how much higher the second one's is."""
        scores = self._scores(X)
        return scores if len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the highest score."""
        decision = self.decision_function(X)
        numbers = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
        return self.classes_[numbers]


class LinearSVMClassifier(_Classifier):
    """A multi-class linear SVM [Crammer and Singer 2001] with a certificate: how far it is from the best, at most.

        P = lam/2 (||W||^2 + ||b||^2) + 1/N sum_i max_y [ 1(y != y_i) + s_y(x_i) - s_{y_i}(x_i) ]

    It is what `sklearn.svm.LinearSVC(multi_class="crammer_singer", C=1 / (lam * N))` solves. Features are taken as they are:
    put a scaler in front. Sparse matrices are welcome; their memory and time go with what is not zero.

    - lam: weight of the regulariser, or "auto": the best of a grid by cross-validation
    - gap: it stops when P - D <= gap * P, D the dual
    - max_epochs: over the samples; a `ConvergenceWarning` if they do not close the gap

    After `fit`: `coef_`, `intercept_`, `classes_`, `lam_`, `objective_`, `dual_`, `n_iter_` and `network_`, an
    `lwsvm.Network` that can be saved as ONNX.

    >>> from sklearn.datasets import load_iris
    >>> from lwsvm import LinearSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = LinearSVMClassifier(lam=0.01).fit(X, y)
    >>> svm.score(X, y) > 0.95
    True
    >>> bool(svm.objective_ - svm.dual_ <= 1e-3 * svm.objective_)
    True
    """

    def __init__(
        self,
        lam: float | str = 1e-3,
        *,
        gap: float = 1e-3,
        max_epochs: int = 1000,
        batch: int = 200,
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.lam = lam
        self.gap = gap
        self.max_epochs = max_epochs
        self.batch = batch
        self.random_state = random_state
        self.threads = threads

    def _more_tags(self) -> dict[str, Any]:
        return {"preserves_dtype": [], "requires_y": True}

    def fit(self, X: Any, y: Any) -> LinearSVMClassifier:
        """Ctrl-C leaves the machine so far in the estimator, and raises KeyboardInterrupt."""
        X, y = self._validate_data(X, y, accept_sparse="csr", dtype=[np.float32, np.float64])
        labels = self._take_labels(y)
        X = _float32(X)
        seed = _seed(self.random_state)
        self.lam_ = self._chosen_lam(X, labels, seed)
        network, found = self._solve(X, labels, self.lam_, seed, self.gap)
        self.network_ = Network(network)
        self.network_._classes = self.classes_.tolist()
        self.coef_, self.intercept_ = _linear(network, X.shape[1], len(self.classes_))
        self.objective_, self.dual_, self.n_iter_ = found["objective"], found["dual"], found["epochs"]
        if found["interrupted"]:
            raise KeyboardInterrupt("stopped; the machine so far is kept")
        if found["relative_gap"] > 1.01 * self.gap:
            warnings.warn(
                f"max_epochs={self.max_epochs} used up with a gap of {100 * found['relative_gap']:.3g}% left; more epochs, a "
                "larger gap or a larger lam would close it",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _solve(self, X: Any, labels: npt.NDArray[np.int32], lam: float, seed: int, gap: float) -> tuple[Any, dict[str, Any]]:
        network = _core.Network()
        settings = {
            "lam": lam,
            "gap": gap,
            "max_epochs": self.max_epochs,
            "batch": self.batch,
            "seed": seed,
            "threads": _settings.threads(self.threads),
            "validation": "0",
        }
        classes, names = len(self.classes_), self._class_names()
        if scipy.sparse.issparse(X):
            arrays = (
                np.ascontiguousarray(X.indptr, dtype=np.int64),
                np.ascontiguousarray(X.indices, dtype=np.int32),
                X.data,
                labels,
            )
            found = _core.train_sparse_svm(network, arrays, X.shape[1], classes, names, **settings)
        else:
            data = _core.Data.view(train=(X, labels), classes=classes, class_names=names)
            found = _core.train_svm(network, data, scale=1.0, **settings)
        return network, found

    def _chosen_lam(self, X: Any, labels: npt.NDArray[np.int32], seed: int) -> float:
        if not isinstance(self.lam, str):
            return float(self.lam)
        if self.lam != "auto":
            raise Error(f"[svm] lambda is '{self.lam}'; it must be a positive number, or 'auto'")
        return self._searched_lam(X, labels, seed)

    def _searched_lam(self, X: Any, labels: npt.NDArray[np.int32], seed: int) -> float:
        """The best of a geometric grid by cross-validation, ties to the larger. The grid goes down from the samples' mean
        square, so that it is the same search whatever unit the features are in."""
        smallest = int(np.bincount(labels).min())
        folds = min(5, smallest)
        square = float(X.multiply(X).sum() if scipy.sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64))
        size = max(square / X.shape[0], np.finfo(np.float32).tiny)
        grid = [size * 10.0 ** (power / 2) for power in range(0, -9, -1)]
        if folds < 2:  # some class has one sample: nothing can be compared
            return grid[4]
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32).split(np.zeros(len(labels)), labels))
        if X.shape[0] > 20000:  # enough for one split to tell
            splits = splits[:1]
        best, best_right = grid[0], -1
        for lam in grid:
            right = 0
            for fitted, held in splits:
                network, found = self._solve(_rows(X, fitted), labels[fitted], lam, seed, max(self.gap, 0.02))
                if found["interrupted"]:
                    raise KeyboardInterrupt("stopped while choosing lambda")
                coef, intercept = _linear(network, X.shape[1], len(self.classes_))
                right += int(np.sum((X[held] @ coef.T + intercept).argmax(axis=1) == labels[held]))
            if right > best_right:
                best, best_right = lam, right
        return best

    def _scores(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        X = self._validate_data(X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


class PiecewiseLinearClassifier(_Classifier):
    """A network of convolutions, dense layers, ReLUs and max-pools: a few epochs of training, then refined in passes.

    - arch: "dense64-relu", "conv12x5-relu-pool2-dense64-relu", ... (`lwsvm train --help` has the grammar)
    - epochs: of training before it is refined; solver: "dfw" has no learning rate either, "adam", "adadelta", ...
    - passes: of refining, at most (default: 10, of few samples more); time_limit: of that, in seconds or as "10m"
    - lam: weight of the regulariser. Default: 0.001
    - validation: share or count of samples that judge every move
    - image_shape: of the samples, such as (1, 28, 28), where X has a row of pixels per sample. X may also have 3 or 4 axes

    Features are normalised with their training mean and deviation, bytes by 256, as the command line does; the network
    remembers it. After `fit`: `network_`, `classes_`, `result_` (the `RefineResult`) and `training_`.

    >>> from sklearn.datasets import load_digits
    >>> from lwsvm import PiecewiseLinearClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> net = PiecewiseLinearClassifier("conv8x3-relu-pool2-dense32-relu", image_shape=(1, 8, 8), epochs=3, passes=1)
    >>> net.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.85
    True
    """

    def __init__(
        self,
        arch: str = "dense64-relu",
        *,
        passes: int | None = None,
        epochs: int = 10,
        solver: str = "adam",
        lam: float | None = None,
        validation: float | int | str | None = 0.1,
        time_limit: str | float | None = None,
        augment: str | None = None,
        batch: int = 200,
        image_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
        threads: int | None = None,
    ):
        self.arch = arch
        self.passes = passes
        self.epochs = epochs
        self.solver = solver
        self.lam = lam
        self.validation = validation
        self.time_limit = time_limit
        self.augment = augment
        self.batch = batch
        self.image_shape = image_shape
        self.random_state = random_state
        self.threads = threads

    network_: Network
    result_: RefineResult
    training_: TrainResult

    def _more_tags(self) -> dict[str, Any]:
        return {"preserves_dtype": [], "requires_y": True}

    def fit(self, X: Any, y: Any) -> PiecewiseLinearClassifier:
        """Ctrl-C leaves the network so far in the estimator, and raises KeyboardInterrupt."""
        X, y = self._validate_data(X, y, allow_nd=True, dtype=[np.float32, np.uint8, np.float64])
        labels = self._take_labels(y)
        common = {
            "validation": self._split_off(len(labels)),
            "classes": self.classes_.tolist(),
            "augment": self.augment,
            "batch": self.batch,
            "seed": _seed(self.random_state),
            "threads": self.threads,
            "progress": False,
        }
        samples, labels = self._images(X), self.classes_[labels]
        self.training_ = train(self.arch, samples, labels, epochs=self.epochs, solver=self.solver, lam=self.lam, **common)
        self.network_ = self.training_.model
        if self.training_.interrupted:
            raise KeyboardInterrupt("stopped; the network so far is kept")
        self.result_ = refine(self.training_.model, samples, labels, passes=self.passes, time_limit=self.time_limit, **common)
        self.network_ = self.result_.model
        self.n_iter_ = self.training_.epochs + self.result_.moves
        if self.result_.interrupted:
            raise KeyboardInterrupt("stopped; the best network so far is kept")
        return self

    def _split_off(self, samples: int) -> Any:
        """Of very few samples none are spared."""
        return 0 if samples < 20 else self.validation

    def _images(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if X.dtype == np.float64:
            X = _float32(X)
        if self.image_shape is None or X.ndim != 2:
            return X
        shape = tuple(self.image_shape)
        if len(shape) not in (1, 2, 3) or int(np.prod(shape)) != X.shape[1]:
            raise Error(f"[data] samples of {X.shape[1]} features are no images of {shape}; give another image_shape")
        return X.reshape(len(X), *shape)

    def _scores(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        X = self._validate_data(X, allow_nd=True, dtype=[np.float32, np.uint8, np.float64], reset=False)
        return self.network_.scores(self._images(X), threads=self.threads)


def _float32(X: Any) -> Any:
    """C++ computes with float32; what does not fit there is said to be so, instead of being infinite."""
    if X.dtype == np.float32 and (scipy.sparse.issparse(X) or X.flags.c_contiguous):
        if scipy.sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    with np.errstate(over="ignore"):
        result = X.astype(np.float32) if scipy.sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
    if scipy.sparse.issparse(result):
        result.sum_duplicates()
    values = result.data if scipy.sparse.issparse(result) else result
    if not np.all(np.isfinite(values)):
        raise Error("[data] X has numbers that are infinity or too large for float32; scale the features")
    return result


def _rows(X: Any, which: npt.NDArray[Any]) -> Any:
    rows = X[which]
    if scipy.sparse.issparse(rows):
        rows.sum_duplicates()
    return rows


def _linear(network: _core.Network, features: int, classes: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Weights and biases, in the precision that scikit-learn computes with."""
    layer = [layer["name"] for layer in network.layers() if layer["has_weights"]][-1]
    numbers = network.weights(layer).astype(np.float64)
    return numbers[: classes * features].reshape(classes, features), numbers[classes * features :]
