"""refine_module: a torch.nn.Module, refined in place.

    module --torch.onnx--> file --refine--> file --by parameter name--> module

Outputs are compared before (does the file compute what the module does?) and after (did the weights come back?).
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._core import Error
from ._data import Data, is_name, pair_of, sample_array
from ._network import Network
from ._result import RefineResult, Update
from ._runs import refine

if TYPE_CHECKING:
    import torch

CHECKED_SAMPLES = 64
TOLERANCE = 1e-3  # of the largest score: float32 sums in another order, through some tens of layers


def refine_module(
    module: torch.nn.Module,
    x: Any,
    y: Any = None,
    *,
    layers: str | Sequence[str] = "all",
    opset: int = 13,
    callback: Callable[[Update], Any] | None = None,
    **settings: Any,
) -> RefineResult:
    """Refines a PyTorch module in place: its parameters, and so its `state_dict`, are changed by name.

    `x` are the module's inputs, as it takes them (N x ..., a tensor or an array), `y` the labels; or `x` alone is a DataLoader
    or a Dataset, which is read once, or a `Data`, such as a folder of photos (pixels 0..255; a module that wants them
    otherwise is told of by `scale`, or `mean` and `std`). The module must give a score per class. Batch norm stays as it is and dropout is off;
    a module in train mode is in train mode afterwards. Parameters with `requires_grad=False` stay as they are. Other settings
    are those of `refine`.

    If the module computes something that an export to ONNX loses, outputs disagree, and that is an `lwsvm.Error`; the module is
    then as it was.

    >>> import torch, lwsvm
    >>> _ = torch.manual_seed(0)
    >>> x = torch.rand(200, 10)
    >>> y = (x[:, 0] > x[:, 1]).long()
    >>> net = torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    >>> result = lwsvm.refine_module(net, x, y, validation=0)
    >>> result.end.objective < result.start.objective
    True
    >>> bool((net(x).argmax(1) == y).float().mean() > 0.9)
    True
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise Error(f"[torch] expected a torch.nn.Module, not {type(module).__name__}")
    if is_name(x):
        raise Error("[torch] a module's inputs are arrays, tensors, a DataLoader, a Dataset or an lwsvm.Data, which reads files")
    if "network" in settings or "output" in settings:
        raise Error("[torch] the network is the module; leave out network and output")
    data = x if isinstance(x, Data) else None
    if data is None:
        x, y = pair_of(x, y)
    samples = sample_array(x) if data is None else data.arrays()[0]
    if len(samples) == 0:
        raise Error("[data] x is empty; nothing can be learnt from no samples")
    inputs = _inputs_of(module, samples)
    with _evaluating(module):
        before = _outputs(module, inputs)
        network = Network(_exported(module, inputs[:1], opset))
    _check_before(network, samples[:CHECKED_SAMPLES], before)
    places = _places(network, module)
    chosen = _open_layers(network, module, places, layers)
    if data is None:
        settings.setdefault("channels_last", False)  # PyTorch's order
    if not any(settings.get(key) is not None for key in ("normalize", "scale", "mean", "std")):
        settings["scale"] = 1.0  # the module takes its inputs as they are
    result = refine(network, samples if data is None else data, y, layers=chosen, callback=callback, **settings)
    _put_back(network, result.model, module, places, inputs, samples[:CHECKED_SAMPLES])
    return result


def _inputs_of(module: torch.nn.Module, samples: npt.NDArray[Any]) -> torch.Tensor:
    """The first samples, where and in what type the module has its parameters."""
    import torch

    first = next((p for p in module.parameters() if p.is_floating_point()), None)
    if first is None:
        raise Error("[torch] the module has no parameters; there is nothing to refine")
    return torch.from_numpy(np.array(samples[:CHECKED_SAMPLES])).to(device=first.device, dtype=first.dtype)


@contextlib.contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """In evaluation mode; afterwards every submodule is in the mode that it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _outputs(module: torch.nn.Module, inputs: torch.Tensor) -> npt.NDArray[np.float32]:
    import torch

    with torch.no_grad():
        try:
            outputs = module(inputs)
        except (RuntimeError, TypeError, ValueError) as error:
            raise Error(f"[torch] the module does not take samples of {tuple(inputs.shape[1:])}: {error}") from None
    if not isinstance(outputs, torch.Tensor) or outputs.ndim < 2 or len(outputs) != len(inputs):
        what = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise Error(f"[torch] the module gives {what} for {len(inputs)} samples; it must give a row of scores for each")
    return outputs.detach().reshape(len(outputs), -1).float().cpu().numpy()


def _exported(module: torch.nn.Module, example: torch.Tensor, opset: int) -> bytes:
    import torch

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever is lost, comparing outputs shows it
        try:
            torch.onnx.export(
                module,
                (example,),
                file,
                opset_version=opset,
                training=torch.onnx.TrainingMode.PRESERVE,  # batch norm is not folded into the layer before: names stay
                do_constant_folding=False,
                input_names=["input"],
                output_names=["scores"],
                dynamic_axes={"input": {0: "N"}, "scores": {0: "N"}},
            )
        except Exception as error:  # torch raises what it likes
            raise Error(f"[torch] torch.onnx cannot export the module: {error}") from error
    return file.getvalue()


def _softmax(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


# What may stand at the very end of a module: refine leaves it out of the scores.
_ENDINGS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "": lambda scores: scores,
    "softmax": _softmax,
    "log-softmax": lambda scores: np.log(np.maximum(_softmax(scores.astype(np.float64)), 1e-300)),
    "sigmoid": lambda scores: 1 / (1 + np.exp(-scores)),
}


def _agree(scores: npt.NDArray[np.float32], outputs: npt.NDArray[np.float32]) -> bool:
    if scores.shape != outputs.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        for ending in _ENDINGS.values():
            expected = ending(scores)
            scale = max(1e-6, float(np.abs(outputs).max()), float(np.abs(expected).max()))
            if np.all(np.abs(expected - outputs) <= TOLERANCE * scale):
                return True
    return False


def _check_before(network: Network, samples: npt.NDArray[Any], outputs: npt.NDArray[np.float32]) -> None:
    scores = network.scores(samples, scale=1.0, channels_last=False)
    if not np.all(np.isfinite(outputs)):
        raise Error("[torch] the module's outputs are not finite numbers; check its weights and its inputs")
    if not _agree(scores, outputs):
        worst = float(np.abs(scores - outputs).max()) if scores.shape == outputs.shape else float("nan")
        raise Error(
            f"[torch] the exported network does not compute what the module does (outputs of {outputs.shape} and "
            f"{scores.shape}, up to {worst:.3g} apart): something is lost in the export, such as a branch that depends on the data, "
            "or random numbers; refine_module cannot be used with it"
        )


# Where a tensor of the file lies in the module: its name there, and whether it is transposed.
_Place = tuple[str, bool]


def _places(network: Network, module: torch.nn.Module) -> dict[str, _Place]:
    """By name; and where torch.onnx has made up another name, by the numbers, if only one parameter has them."""
    state = {name: value.detach().float().cpu().numpy() for name, value in module.state_dict().items()
             if value.is_floating_point()}
    places: dict[str, _Place] = {}
    for name, values in network.tensors().items():
        if name in state and state[name].shape == values.shape:
            places[name] = (name, False)
            continue
        same = [(key, False) for key, other in state.items() if other.shape == values.shape and np.array_equal(other, values)]
        turned = [(key, True) for key, other in state.items()
                  if other.ndim == 2 and other.T.shape == values.shape and np.array_equal(other.T, values)]
        found = same or turned
        if len(found) == 1:
            places[name] = found[0]
    return places


def _open_layers(network: Network, module: torch.nn.Module, places: dict[str, _Place], layers: str | Sequence[str]) -> str:
    """Those asked for; of "all" those that the module can take back and whose parameters may change."""
    if layers != "all":
        return layers if isinstance(layers, str) else ",".join(layers)
    frozen = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    chosen, reasons = [], []
    for layer in network.layers:
        if not layer.has_weights:
            continue
        if layer.why_not_refinable:
            reasons.append(f"{layer.name}: {layer.why_not_refinable}")
        elif any(tensor not in places for tensor in layer.tensors):
            reasons.append(f"{layer.name}: its weights are not found in the module")
        elif any(places[tensor][0] in frozen for tensor in layer.tensors):
            reasons.append(f"{layer.name}: requires_grad is False")
        else:
            chosen.append(layer.name)
    if not chosen:
        raise Error("[torch] no layer of this module can be refined: " + "; ".join(reasons or ["it has none with weights"]))
    if not reasons:
        return "all"
    return ",".join(_quoted(name) for name in chosen)


def _quoted(name: str) -> str:
    """As a pattern that stands for itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _put_back(
    before: Network,
    after: Network,
    module: torch.nn.Module,
    places: dict[str, _Place],
    inputs: torch.Tensor,
    samples: npt.NDArray[Any],
) -> None:
    """Only numbers that changed; if the module does not compute what the network does then, they are taken back."""
    import torch

    old, new = before.tensors(), after.tensors()
    changed = [name for name in new if not np.array_equal(old[name], new[name])]
    lost = [name for name in changed if name not in places]
    if lost:
        raise Error(f"[torch] {', '.join(lost)} cannot be put back: no parameter of the module is alike; name other layers")
    state = module.state_dict()  # shares its numbers with the module
    backup = {places[name][0]: state[places[name][0]].detach().clone() for name in changed}
    try:
        with torch.no_grad():
            for name in changed:
                key, turned = places[name]
                values, mask = new[name], old[name] != new[name]
                if turned:
                    values, mask = values.T, mask.T
                target = state[key]
                fresh = torch.from_numpy(np.array(values)).to(device=target.device, dtype=target.dtype)
                where = torch.from_numpy(np.array(mask)).to(target.device)
                target.copy_(torch.where(where, fresh, target))
        with _evaluating(module):
            outputs = _outputs(module, inputs)
        if not _agree(after.scores(samples, scale=1.0, channels_last=False), outputs):
            raise Error("[torch] with the refined weights the module does not compute what the refined network does; they are "
                        "taken back")
    except BaseException:
        with torch.no_grad():
            for key, values in backup.items():
                module.state_dict()[key].copy_(values)
        raise
