"""refine and train: what the commands of the same name do, on arrays or on data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from . import _core, _settings
from ._core import Error
from ._data import Data, is_name
from ._display import open_display
from ._network import Network
from ._result import Quality, RefineResult, TrainResult, Update, to_update


def _made_data(
    x: Any,
    y: Any,
    validation: Any,
    test: Any,
    classes: Sequence[Hashable] | None,
    channels_last: bool | None,
    name: str | None,
    data_dir: str | os.PathLike[str],
    network: Network | None,
) -> tuple[Data, str | None]:
    """The data, and the share or count of samples to split off."""
    share, own = _settings.part(validation)
    if classes is None and network is not None:
        classes = network._classes_for(x)
    if network is not None:
        channels_last = network._channels_last(x, channels_last)
    if isinstance(x, Data):
        if y is not None or own is not None or test is not None or classes is not None or name is not None:
            raise Error("[data] a Data has its own labels, parts and name; leave out y, test, classes and name")
        return x, share
    if is_name(x):
        return Data(x, y, validation=own, test=test, classes=classes, data_dir=data_dir, network=network), share
    return Data(x, y, validation=own, test=test, classes=classes, channels_last=channels_last, name=name or "samples",
                outputs=network.core.classes() if network else None,
                output_names=network.core.class_names() if network else ()), share


def _both(display: Any, callback: Callable[[Any], Any] | None, convert: Callable[[dict[str, Any]], Any]) -> Any:
    """Tells the display, then the callback; False from the latter stops."""
    if callback is None:
        return display
    if not callable(callback):
        raise Error(f"[callback] {type(callback).__name__} cannot be called; give a function of one argument")
    answer = callback

    def tell(event: dict[str, Any]) -> Any:
        if display is not None:
            display(event)
        return answer(convert(event))

    return tell


def _listening(display: Callable[[str], None] | None, messages: list[str]) -> Callable[[str], None]:
    def hear(text: str) -> None:
        messages.append(text)
        if display is not None:
            display(text)

    return hear


def refine(
    network: str | os.PathLike[str] | bytes | Network,
    x: Any,
    y: Any = None,
    *,
    validation: Any = None,
    test: Any = None,
    time_limit: str | float | None = None,
    passes: int | None = None,
    layers: str | Sequence[str] = "all",
    lam: str | float | None = None,
    centre: str | os.PathLike[str] | None = None,
    normalize: str | None = None,
    scale: float | None = None,
    mean: Any = None,
    std: Any = None,
    anyway: bool = False,
    augment: str | None = None,
    margins: Any = None,
    moves: str | None = None,
    patience: int | None = None,
    gap: float | None = None,
    mu: float | None = None,
    max_epochs: int | None = None,
    batch: int | None = None,
    memory: str | int | None = None,
    mode: str | None = None,
    search: str | None = None,
    keep: str | None = None,
    seed: int = 0,
    split_seed: int | None = None,
    threads: int | None = None,
    classes: Sequence[Hashable] | None = None,
    channels_last: bool | None = None,
    output: str = "",
    name: str | None = None,
    data_dir: str | os.PathLike[str] = "",
    progress: bool | None = None,
    callback: Callable[[Update], Any] | None = None,
) -> RefineResult:
    """Lowers a network's objective without a learning rate, in moves that lower it or are taken back.

    `network` is an ONNX file (a path or its bytes) or a `Network`, which stays as it is: the refined one is the result's
    `model`. `x` and `y` are arrays, a torch DataLoader or Dataset, or `x` alone is a `Data` or the name or path of a data set.

    - validation: a share (0.1) or a count of samples to split off, or a pair (x_val, y_val). Default: as the command line
    - test: a pair, which only the report looks at
    - time_limit: seconds, or "10m"; passes: at most so many. Default: 10 passes, of few samples more
    - layers: names, with * and ?; `Network.layers` tells them
    - lam: weight of the regulariser, or "auto": by validation accuracy. Default: the network's
    - normalize, or scale, mean and std: from the samples to the network's input. Default: as the file says, else by trying
    - margins: classes x classes, what it costs to predict the row for the column. Default: 1, and 0 on the diagonal
    - classes: the label of each output, where labels are not 0, 1, 2, ... and not in their order
    - channels_last: of N x H x W x C. Default: the axis with 1, 3 or 4 entries holds the channels
    - progress: True, False, or None: where a person looks on
    - callback: called with an `Update` after every move; if it returns False, the run ends

    Other settings are those of `lwsvm refine --help`, with its defaults: the same settings give the same bits. Ctrl-C ends the
    run and keeps the best network so far (`finished` is then False), a second Ctrl-C raises KeyboardInterrupt. Bad input
    raises `lwsvm.Error`.

    >>> import numpy as np, lwsvm
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((300, 8), dtype=np.float32)
    >>> y = np.where(x[:, 0] + x[:, 1] > 1, "sum", "rest")
    >>> base = lwsvm.train("dense8-relu", x, y, epochs=3, validation=0.2).model
    >>> result = lwsvm.refine(base, x, y, validation=0.2, passes=2)
    >>> result.end.objective < result.start.objective
    True
    >>> result.rises
    0
    >>> result.model.predict(x[:1])[0] in ("sum", "rest")
    True
    """
    source = Network(network, output=output)
    data, share = _made_data(x, y, validation, test, classes, channels_last, name, data_dir, source)
    limit = _settings.seconds(time_limit)
    refined = source.core.copy()
    messages = list(data.notes)
    settings = {
        "validation": share,
        "split_seed": split_seed,
        "margins": _settings.margins(margins),
        "augment": augment,
        **_settings.pixels(normalize, scale, mean, std, anyway),
        **_settings.lam(lam),
        "layers": layers if isinstance(layers, str) else ",".join(layers),
        "centre": None if centre is None else os.fspath(centre),
        "mu": mu,
        "moves": moves,
        "passes": passes,
        "patience": patience,
        "gap": gap,
        "max_epochs": max_epochs,
        "batch": batch,
        "time_limit": limit,
        "memory": _settings.size(memory),
        "mode": mode,
        "search": search,
        "keep": keep,
        "seed": seed,
        "threads": _settings.threads(threads),
    }
    display = open_display(progress, "refine", "move", limit or None, limit > 0)
    try:
        found = _core.refine(
            refined,
            data.core,
            on_progress=display.progress,
            on_update=_both(display.update, callback, to_update),
            on_message=_listening(display.message, messages),
            **settings,
        )
    finally:
        display.close()
    model = Network(refined)
    model._classes = data.labels.classes if data.labels is not None else source._classes
    return RefineResult(model, found, messages)


def train(
    network: str | Network,
    x: Any,
    y: Any = None,
    *,
    validation: Any = None,
    test: Any = None,
    epochs: int = 10,
    time_limit: str | float | None = None,
    solver: str = "adam",
    learning_rate: float | None = None,
    loss: str = "svm",
    lam: float | None = None,
    schedule: str | None = None,
    normalize: str | None = None,
    scale: float | None = None,
    mean: Any = None,
    std: Any = None,
    per_pixel: bool = False,
    anyway: bool = False,
    augment: str | None = None,
    margins: Any = None,
    batch: int | None = None,
    eval_every: int | None = None,
    seed: int = 0,
    split_seed: int | None = None,
    threads: int | None = None,
    classes: Sequence[Hashable] | None = None,
    channels_last: bool | None = None,
    name: str | None = None,
    data_dir: str | os.PathLike[str] = "",
    progress: bool | None = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> TrainResult:
    """Trains a network by a gradient solver, or with `solver="dfw"` without a learning rate.

    `network` is a `Network` to go on with, or the architecture of a new one: "mnist", "conv12x5-relu-pool2-dense64-relu"
    (`lwsvm train --help` has the grammar). The rest is as for `refine`; the callback is told every epoch, as a dict.

    >>> import numpy as np, lwsvm
    >>> x = np.random.default_rng(1).random((200, 6), dtype=np.float32)
    >>> result = lwsvm.train("dense16-relu", x, x.argmax(axis=1), epochs=5)
    >>> [entry["epoch"] for entry in result.history]
    [1, 2, 3, 4, 5]
    >>> result.model.classes
    [0, 1, 2, 3, 4, 5]
    """
    if not isinstance(network, (str, Network)):
        raise Error(f"[train] expected a Network or an architecture such as 'dense64-relu', not {type(network).__name__}")
    source = network if isinstance(network, Network) else None
    data, share = _made_data(x, y, validation, test, classes, channels_last, name, data_dir, source)
    limit = _settings.seconds(time_limit)
    trained = source.core.copy() if source else _core.Network()
    messages = list(data.notes)
    history: list[dict[str, Any]] = []
    settings = {
        "arch": None if source else network,
        "validation": share,
        "split_seed": split_seed,
        "margins": _settings.margins(margins),
        "augment": augment,
        **_settings.pixels(normalize, scale, mean, std, anyway),
        "per_pixel": bool(per_pixel),
        "loss": loss,
        "solver": solver,
        "learning_rate": learning_rate,
        "lam": lam,
        "schedule": schedule,
        "epochs": epochs,
        "time_limit": limit,
        "batch": batch,
        "eval_every": eval_every,
        "seed": seed,
        "threads": _settings.threads(threads),
    }
    display = open_display(progress, "train", "epoch", epochs if isinstance(epochs, int) else None)
    told = _both(display.epoch, callback, dict)

    def hear_epoch(epoch: dict[str, Any]) -> Any:
        history.append(epoch)
        return told(epoch) if told is not None else None

    try:
        found = _core.train(
            trained,
            data.core,
            on_progress=display.progress,
            on_epoch=hear_epoch,
            on_message=_listening(display.message, messages),
            **settings,
        )
    finally:
        display.close()
    model = Network(trained)
    model._classes = data.labels.classes if data.labels is not None else source._classes if source else None
    return TrainResult(model, Quality(**found["end"]), found["epochs"], found["seconds"], found["finished"],
                       found["interrupted"], history, messages)
