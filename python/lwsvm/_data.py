"""Samples: arrays without copies where their layout allows, data sets by name, PyTorch's data sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _settings
from ._core import Error
from ._labels import Labels
from ._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt


def sample_array(x: Any, what: str = "x") -> npt.NDArray[Any]:
    """Samples as C++ reads them: float32 or uint8, row-major, in this machine's byte order. Copied only if they are not."""
    if hasattr(x, "detach"):  # a tensor
        x = x.detach().cpu().numpy()
    if hasattr(x, "tocsr"):
        raise Error(f"[data] {what} is a sparse matrix, which only LinearSVMClassifier takes; give {what}.toarray()")
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise Error(f"[data] {what}: some numbers are masked; fill them in, as with {what}.filled(0)")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise Error(f"[data] {what} is no array of numbers ({error}); all samples need the same shape") from None
    if array.dtype.kind not in "buif":
        raise Error(f"[data] {what} holds {array.dtype}; give numbers, such as {what}.astype('float32')")
    if array.ndim < 2 or array.ndim > 4:
        raise Error(
            f"[data] {what}: the images have {array.ndim} axes; expected N x features, N x H x W, N x C x H x W or "
            "N x H x W x C"
        )
    wanted = np.uint8 if array.dtype == np.uint8 else np.float32
    with np.errstate(over="ignore", invalid="ignore"):  # C++ says which number is too large
        array = np.require(array, dtype=wanted, requirements=["C", "ALIGNED"])
    return np.asarray(array)


def _torch_data(x: Any) -> Any:
    """torch.utils.data if `x` is from there, else None. PyTorch is not loaded for it."""
    torch = sys.modules.get("torch")
    data = getattr(getattr(torch, "utils", None), "data", None)
    return data if data is not None and isinstance(x, (data.DataLoader, data.Dataset)) else None


def _gathered(x: Any, data: Any, what: str) -> tuple[Any, Any]:
    """All samples and labels of a DataLoader or a Dataset, read once."""
    if isinstance(x, data.TensorDataset):
        parts = x.tensors
        if len(parts) < 2:
            raise Error(f"[data] {what}: the TensorDataset has {len(parts)} tensors; expected samples and labels")
        return parts[0], parts[1]
    if isinstance(x, data.DataLoader):
        batches = [batch[:2] for batch in x]
        if not batches:
            raise Error(f"[data] {what}: the DataLoader gives no batches; nothing can be learnt from no samples")
        if any(len(batch) != 2 for batch in batches):
            raise Error(f"[data] {what}: expected batches of samples and labels")
        samples = np.concatenate([np.asarray(batch[0]) for batch in batches])
        labels: list[Any] = []
        for batch in batches:
            labels.extend(batch[1].tolist() if hasattr(batch[1], "tolist") else batch[1])
        return samples, labels
    items = [x[i] for i in range(len(x))] if hasattr(x, "__len__") else list(x)
    if not items:
        raise Error(f"[data] {what}: the Dataset is empty; nothing can be learnt from no samples")
    labels = [item[1].item() if hasattr(item[1], "item") else item[1] for item in items]
    try:
        return np.stack([np.asarray(item[0]) for item in items]), labels
    except ValueError as error:
        raise Error(f"[data] {what}: {error}; all samples need the same shape") from None


def pair_of(x: Any, y: Any, what: str = "x") -> tuple[Any, Any]:
    """Samples and labels, however they were given."""
    data = _torch_data(x)
    if data is not None:
        if y is not None:
            raise Error(f"[data] {what} is a {type(x).__name__}, which has its own labels; leave out y")
        return _gathered(x, data, what)
    if y is None:
        raise Error(f"[data] {what} is an array and needs its labels; give y, one label per sample")
    return x, y


def _part(pair: Any, what: str) -> tuple[Any, Any] | None:
    if pair is None:
        return None
    if _torch_data(pair) is not None:
        return pair_of(pair, None, what)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise Error(f"[data] {what}: expected a pair, ({what}_x, {what}_y), not {type(pair).__name__}")
    return pair[0], pair[1]


def is_name(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike))


class Data:
    """Samples with labels: arrays, or a data set by name or path.

    Arrays of float32 or uint8 in C order are looked at where they are, so do not change them while a `Data` lives; others are
    copied. Axes are N x features, N x H x W, N x C x H x W or N x H x W x C. Photos, a folder per class or a CSV file, become
    what a network takes where there is one, else 3 x 224 x 224 or as `crop` and `resize` say.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((30, 4), dtype=np.float32)
    >>> Data(x, ["cat", "dog", "cow"] * 10)
    Data('samples': 30 training samples of 4x1x1, 3 classes)
    >>> Data("synthetic:n=30,test=10,classes=2,size=4x4")
    Data('synthetic': 30 training and 10 test samples of 1x4x4, 2 classes)
    """

    def __init__(
        self,
        x: Any,
        y: Any = None,
        *,
        validation: Any = None,
        test: Any = None,
        classes: Sequence[Hashable] | None = None,
        channels_last: bool | None = None,
        name: str = "samples",
        data_dir: str | os.PathLike[str] = "",
        outputs: int | None = None,
        output_names: Sequence[str] = (),
        network: Any = None,
        crop: int | tuple[int, int] | None = None,
        resize: int | None = None,
        stretch: bool = False,
        skip_bad: bool = False,
    ):
        """`validation` and `test` are pairs of samples and labels. `classes` names the label of each class number; `outputs` is
        how many a network tells apart, `output_names` what its file calls them. `channels_last` says what four axes are; None: the axis with 1, 3 or 4 entries holds
        the channels.

        Of photos: `network` is the `Network` that they are for; `crop` (a number, or height and width), `resize` (the short side),
        `stretch` and `skip_bad` are those of `lwsvm train --help`."""
        self.labels: Labels | None = None
        self.notes: list[str] = []  # what there was to say about the files
        photos = _settings.photos(crop, resize, stretch, skip_bad)
        if is_name(x):
            if y is not None or validation is not None or test is not None or classes is not None:
                raise Error(f"[data] {os.fspath(x)} is a data set with labels and parts of its own; leave out y, "
                            "validation, test and classes")
            core = None if network is None else network.core
            self.core, self.notes = _core.Data.load(_settings.path(x), _settings.path(data_dir), core, **photos)
            return
        if any(value is not None and value is not False for value in (crop, resize, stretch, skip_bad)):
            raise Error("[data] crop, resize, stretch and skip_bad are of photos in files; leave them out with arrays")
        x, y = pair_of(x, y)
        pairs = {"train": (x, y), "validation": _part(validation, "validation"), "test": _part(test, "test")}
        self.labels = Labels(y, outputs, classes, output_names)
        parts = {}
        for part, pair in pairs.items():
            if pair is None:
                continue
            what = ("x", "y") if part == "train" else (part + "_x", part + "_y")
            parts[part] = (sample_array(pair[0], what[0]), self.labels.numbers(pair[1], what[1]))
        self.core = _core.Data.view(
            **parts,
            classes=len(self.labels.classes),
            channels_last=channels_last,
            class_names=self.labels.names(),
            name=name,
        )

    def arrays(self, part: str = "train") -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """A copy of the samples ("train", "val" or "test", as they come with the data), N x C x H x W, and of their labels.

        >>> x, y = Data("synthetic:n=30,test=10,classes=2,size=4x4").arrays("test")
        >>> x.shape, x.dtype, y.shape
        ((10, 1, 4, 4), dtype('uint8'), (10,))
        """
        x, y = self.core.samples(part)
        return x, y if self.labels is None else self.labels.of(y)

    @property
    def name(self) -> str:
        return self.core.name()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of a sample."""
        return self.core.shape()

    @property
    def classes(self) -> int:
        return self.core.classes()

    def __repr__(self) -> str:
        sizes = {"training": self.core.train_size(), "validation": self.core.validation_size(), "test": self.core.test_size()}
        words = " and ".join(f"{size} {part}" for part, size in sizes.items() if size > 0)
        return f"Data({self.name!r}: {words} samples of {'x'.join(map(str, self.shape))}, {self.classes} classes)"
