"""From labels of any hashable kind to the class numbers that C++ counts with, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._core import Error
from ._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt


def _shown(labels: Sequence[Any]) -> str:
    """The first few, for a message."""
    words = [repr(label) for label in labels[:6]]
    return ", ".join(words + (["..."] if len(labels) > 6 else []))


def label_array(y: Any, what: str = "y") -> npt.NDArray[Any]:
    """One label per sample, as an array of one axis; of objects where they are no numbers or words."""
    if hasattr(y, "detach"):  # a tensor
        y = y.detach().cpu().numpy()
    if isinstance(y, (str, bytes)) or not (hasattr(y, "__array__") or isinstance(y, Iterable)):
        raise Error(f"[data] {what}: expected one label per sample, not {type(y).__name__}; give a list or an array")
    if not hasattr(y, "__array__"):
        y = list(y)
        kinds = {type(label) for label in y}
        numbers = all(isinstance(label, (bool, int, float, np.generic)) for label in y)
        if not numbers and (len(kinds) > 1 or kinds - {str, bytes}):
            objects = np.empty(len(y), dtype=object)
            for i, label in enumerate(y):
                objects[i] = label
            return objects
    array = np.asarray(y)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise Error(f"[data] {what}: some labels are masked; leave these samples out")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise Error(
            f"[data] {what}: expected one label per sample, and the array has {array.ndim} axes; "
            "give y.argmax(axis=1) for one-hot labels"
        )
    if array.dtype.kind in "fc" and not np.all(np.isfinite(array)):
        raise Error(f"[data] {what}: label {int(np.flatnonzero(~np.isfinite(array))[0])} is not a finite number")
    return array


class Labels:
    """Which label stands for which class number."""

    def __init__(
        self,
        y: Any,
        outputs: int | None,
        classes: Sequence[Hashable] | None = None,
        names: Sequence[str] = (),
    ):
        """The labels of training samples `y`, for a network with so many outputs, if there is one already. `classes` names
        the label of each output; else whole numbers from 0 are the outputs themselves, words the `names` in the network's
        file, and others are taken in their order, if there are as many as outputs."""
        array = label_array(y)
        self._places: dict[Any, int] | None = None  # None: labels are class numbers already
        if classes is not None:
            self.classes: list[Any] = _plain(classes)
            self._check_given(outputs)
            self._places = self._index()
            return
        if len(array) == 0:
            raise Error("[data] y is empty; nothing can be learnt from no samples")
        if outputs is not None and _are_class_numbers(array, outputs):
            self.classes = list(range(outputs))
            return
        if names and array.dtype.kind in "UO" and all(label in names for label in array.tolist()):
            self.classes = list(names)
            self._places = self._index()
            return
        distinct = _distinct(array, outputs is not None)
        if outputs is not None and len(distinct) != outputs:
            raise Error(
                f"[data] y has {len(distinct)} different labels ({_shown(distinct)}), and the network tells {outputs} classes "
                "apart; give classes=[...], the label of each output in order"
            )
        self.classes = distinct
        self._places = self._index()

    def _check_given(self, outputs: int | None) -> None:
        if outputs is not None and len(self.classes) != outputs:
            raise Error(
                f"[data] {len(self.classes)} classes are named, and the network tells {outputs} apart; name one per output"
            )

    def _index(self) -> dict[Any, int]:
        try:
            places = {label: i for i, label in enumerate(self.classes)}
        except TypeError as error:
            raise Error(f"[data] labels must be hashable: {error}; give words, numbers or tuples") from None
        if len(places) != len(self.classes):
            raise Error("[data] classes names a label twice; each output needs one of its own")
        return places

    def numbers(self, y: Any, what: str = "y") -> npt.NDArray[np.int32]:
        """Class numbers of samples."""
        array = label_array(y, what)
        if self._places is None:
            if not _are_class_numbers(array, len(self.classes)):
                raise Error(f"[data] {what}: labels must be 0..{len(self.classes) - 1}, as those of the training samples are")
            return np.ascontiguousarray(array, dtype=np.int32)
        result = np.empty(len(array), dtype=np.int32)
        for i, label in enumerate(array.tolist()):
            try:
                result[i] = self._places[label]
            except KeyError:
                raise Error(f"[data] {what}: label {label!r} of sample {i} is not among the {len(self.classes)} classes "
                            f"({_shown(self.classes)})") from None
            except TypeError:
                raise Error(f"[data] {what}: label {label!r} of sample {i} is not hashable; give words, numbers or tuples"
                            ) from None
        return result

    def of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The labels of class numbers."""
        if self._places is None:
            return np.asarray(numbers)
        return named(self.classes)[numbers]

    def names(self) -> list[str]:
        """For the file; none where labels are class numbers."""
        if self._places is None or self.classes == list(range(len(self.classes))):
            return []
        return [label if isinstance(label, str) else repr(label) for label in self.classes]


def named(classes: Sequence[Any]) -> npt.NDArray[Any]:
    """Labels as an array of one axis, of numbers or words where they are."""
    kinds = {type(label) for label in classes}
    if len(kinds) == 1 and kinds <= {str, bytes, bool, int, float}:
        return np.array(classes)
    objects = np.empty(len(classes), dtype=object)
    objects[:] = classes if not any(isinstance(label, tuple) for label in classes) else None
    if any(isinstance(label, tuple) for label in classes):
        for i, label in enumerate(classes):
            objects[i] = label
    return objects


def _plain(labels: Iterable[Any]) -> list[Any]:
    """Of numpy's numbers Python's, which hash alike."""
    if isinstance(labels, np.ndarray):
        return list(labels.tolist())
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _are_class_numbers(array: npt.NDArray[Any], outputs: int) -> bool:
    if len(array) == 0:
        return True
    if array.dtype.kind == "f":
        if not np.all(array == np.floor(array)):
            return False
    elif array.dtype.kind not in "biu":
        return False
    return bool(array.min() >= 0 and array.max() < outputs)


def _distinct(array: npt.NDArray[Any], order_matters: bool) -> list[Any]:
    if array.dtype.kind != "O":
        return list(np.unique(array).tolist())
    try:
        seen = list(dict.fromkeys(array.tolist()))
    except TypeError as error:
        raise Error(f"[data] labels must be hashable: {error}; give words, numbers or tuples") from None
    try:
        return sorted(seen)
    except TypeError:
        if order_matters:
            raise Error(
                f"[data] the labels {_shown(seen)} have no order; give classes=[...], the label of each output in order"
            ) from None
        return seen
