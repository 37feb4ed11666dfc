"""A network: an ONNX file, in memory."""

from __future__ import annotations

import html
import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, _settings
from ._core import Error
from ._data import Data, is_name, pair_of, sample_array
from ._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt


class Layer(NamedTuple):
    """One layer of a network."""

    name: str  # as refine(layers=...) takes it
    kind: str  # "Conv", "Gemm", "Relu", ...
    details: str
    output_shape: tuple[int, ...]
    parameters: int
    has_weights: bool
    why_not_refinable: str  # of a layer with weights; empty: it can be refined
    tensors: tuple[str, ...]  # of the file, that its weights and biases are read from


class Evaluation(NamedTuple):
    """What a network is worth on some samples."""

    objective: float  # loss + regulariser
    loss: float
    regulariser: float
    lam: float
    accuracy: float  # correct / samples
    samples: int
    correct: int


class Network:
    """A network, read from an ONNX file.

    >>> import numpy as np, lwsvm
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.random((60, 4), dtype=np.float32), np.arange(60) % 3
    >>> net = lwsvm.train("dense8-relu", x, y, epochs=2).model
    >>> net
    Network('dense8-relu': 4x1x1 -> 3 classes, 67 parameters)
    >>> net.scores(x).shape
    (60, 3)
    >>> again = lwsvm.Network(net.to_bytes())
    >>> bool((again.scores(x) == net.scores(x)).all())
    True
    """

    core: _core.Network
    _classes: list[Any] | None  # the label of each output, where it is known

    def __init__(self, source: str | os.PathLike[str] | bytes | Network | _core.Network, *, output: str = ""):
        """From a path, or from what is in such a file. `output` says which output holds the scores, where there are several."""
        self._classes = None
        if isinstance(source, Network):
            self.core, self._classes = source.core.copy(), source._classes
        elif isinstance(source, _core.Network):
            self.core = source
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self.core = _core.Network.from_bytes(bytes(source), output)
        elif is_name(source):
            self.core = _core.Network.load(_settings.path(source), output)
        else:
            raise Error(f"[model] expected a path, an ONNX file's bytes or a Network, not {type(source).__name__}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an ONNX file, whole or not at all."""
        self.core.save(_settings.path(path))

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return self.core.to_bytes()

    @property
    def layers(self) -> list[Layer]:
        return [Layer(**layer) for layer in self.core.layers()]

    @property
    def parameters(self) -> int:
        """How many numbers it has learnt."""
        return self.core.parameters()

    @property
    def classes(self) -> list[Any]:
        """The label of each output: those that it was trained or refined with here, the file's class names, or 0, 1, 2, ..."""
        if self._classes is not None:
            return list(self._classes)
        names, count = self.core.class_names(), self.core.classes()
        return list(names) if len(names) == count else list(range(count))

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one sample."""
        return self.core.input_shape()

    @property
    def metadata(self) -> dict[str, str]:
        """Whatever else the file says."""
        return self.core.metadata()

    def set_metadata(self, key: str, value: str) -> None:
        self.core.set_metadata(key, value)

    @property
    def arch(self) -> str:
        """What it was built from; empty: not known."""
        return self.core.arch()

    @property
    def data(self) -> str:
        """What it was trained on; empty: not known."""
        return self.core.data()

    @property
    def producer(self) -> str:
        """The program that wrote its file."""
        return self.core.producer()

    @property
    def lam(self) -> float | None:
        """Weight of the regulariser that it was trained with."""
        return self.core.lam()

    @property
    def notes(self) -> list[str]:
        """What its user should know about its file."""
        return self.core.notes()

    def weights(self, layer: str) -> npt.NDArray[np.float32]:
        """A layer's weights, then its biases."""
        return self.core.weights(layer)

    def tensors(self) -> dict[str, npt.NDArray[np.float32]]:
        """The file's tensors of real numbers, by name."""
        return self.core.tensors()

    def scores(
        self,
        x: Any,
        *,
        normalize: str | None = None,
        scale: float | None = None,
        mean: Any = None,
        std: Any = None,
        channels_last: bool | None = None,
        threads: int | None = None,
    ) -> npt.NDArray[np.float32]:
        """One row of scores per sample. A softmax or the like at the end of the file is left out.

        A network of another program that does not say how its pixels are normalised takes `x` as it is, unless `normalize` or
        `scale`, `mean` and `std` are given.
        """
        samples = sample_array(x)
        count = self.core.classes()
        if len(samples) == 0:
            return np.empty((0, count), dtype=np.float32)
        settings = _settings.pixels(normalize, scale, mean, std)
        if not any(value for value in settings.values()) and self._needs_pixels():
            settings["scale"] = 1.0
        part = samples, np.zeros(len(samples), dtype=np.int32)
        data = _core.Data.view(train=part, test=part, classes=max(count, 2),
                               channels_last=self._channels_last(samples, channels_last))
        return _core.scores(self.core, data, part="test", threads=_settings.threads(threads), **settings)

    def _channels_last(self, x: Any, said: bool | None) -> bool | None:
        """Of four axes. What was trained here takes its channels first, so that its shape may tell."""
        shape = tuple(getattr(x, "shape", ()))[1:]
        if said is not None or len(shape) != 3 or not self.producer.startswith("lwsvm"):
            return said
        if shape == self.input_shape:
            return False
        return True if (shape[2], *shape[:2]) == self.input_shape else None

    def _needs_pixels(self) -> bool:
        return not self.producer.startswith("lwsvm") and "lwsvm.normalize" not in self.metadata

    def _classes_for(self, x: Any) -> list[Any] | None:
        """The labels that it was trained with here, for arrays; a data set by name has its own."""
        if is_name(x) or isinstance(x, Data) or self.classes == list(range(self.core.classes())):
            return None
        return self._classes

    def predict(self, x: Any, **pixels: Any) -> npt.NDArray[Any]:
        """The label of each sample's highest score; settings are those of `scores`."""
        from ._labels import named

        return named(self.classes)[self.scores(x, **pixels).argmax(axis=1)]

    def evaluate(
        self,
        x: Any,
        y: Any = None,
        *,
        part: str = "test",
        loss: str | None = None,
        classes: Sequence[Hashable] | None = None,
        normalize: str | None = None,
        scale: float | None = None,
        mean: Any = None,
        std: Any = None,
        anyway: bool = False,
        margins: Any = None,
        channels_last: bool | None = None,
        threads: int | None = None,
        data_dir: str | os.PathLike[str] = "",
    ) -> Evaluation:
        """Loss, objective and accuracy on samples, or on a part ("test", "train", "val") of a data set by name."""
        outputs = self.core.classes()
        if is_name(x) or isinstance(x, Data):
            data = x if isinstance(x, Data) else Data(x, y, classes=classes, data_dir=data_dir, network=self)
        else:
            x, y = pair_of(x, y)
            known = self._classes_for(x) if classes is None else classes
            data = Data(x, y, test=(x, y), classes=known, channels_last=self._channels_last(x, channels_last), outputs=outputs,
                        output_names=self.core.class_names())
            part = "test"
        found = _core.evaluate(
            self.core,
            data.core,
            part=part,
            loss=loss,
            margins=_settings.margins(margins),
            threads=_settings.threads(threads),
            **_settings.pixels(normalize, scale, mean, std, anyway),
        )
        return Evaluation(**found)

    def __repr__(self) -> str:
        what = self.arch or self.producer or "network"
        shape = "x".join(map(str, self.input_shape))
        return f"Network({what!r}: {shape} -> {self.core.classes()} classes, {self.parameters} parameters)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(layer.name)}</td><td>{html.escape(layer.kind)}</td>"
            f"<td>{html.escape(layer.details)}</td><td>{'x'.join(map(str, layer.output_shape))}</td>"
            f"<td>{layer.parameters:,}</td><td>{_refinable(layer)}</td></tr>"
            for layer in self.layers
        )
        return (
            f"<p><b>{html.escape(repr(self))}</b></p><table><thead><tr><th>layer</th><th>kind</th><th></th><th>output</th>"
            f"<th>parameters</th><th>can be refined</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def __reduce__(self) -> Any:
        return _unpickled, (self.to_bytes(), self._classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())


def _refinable(layer: Layer) -> str:
    if not layer.has_weights:
        return ""
    return html.escape("no: " + layer.why_not_refinable) if layer.why_not_refinable else "yes"


def _unpickled(content: bytes, classes: list[Any] | None) -> Network:
    network = Network(content)
    network._classes = classes
    return network
