"""What several functions check alike before C++ sees it."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

from . import _core
from ._core import Error

MAX_THREADS = 1024
MAX_PIXELS = 1 << 14  # of a side of a photo


def seconds(time_limit: str | float | None) -> float:
    """10, "10", "10m" or "1h30m"; 0 for none."""
    if time_limit is None:
        return 0.0
    if isinstance(time_limit, str):
        return _core.parse_seconds(time_limit, "time-limit")
    value = _number(time_limit, "time_limit", "a time such as 60 or '1h30m'")
    if not math.isfinite(value) or value < 0:
        raise Error(f"[time-limit] {value} seconds; give a time such as 60 or '1h30m'")
    return value


def size(memory: str | int | None) -> int | None:
    """Bytes: a number, "4G", "512M"."""
    if memory is None:
        return None
    if isinstance(memory, str):
        return _core.parse_size(memory, "memory")
    value = _number(memory, "memory", "a size such as '4G'")
    if not 0 <= value < 2.0**63:
        raise Error(f"[memory] {memory} bytes; give a size such as '4G'")
    return int(memory)


def threads(count: int | None) -> int:
    if count is None:
        return 0
    value = _number(count, "threads", "a number of threads, or 0 for all cores")
    if not 0 <= value <= MAX_THREADS or value != int(value):
        raise Error(f"[threads] {count} threads; give 1 to {MAX_THREADS}, or 0 for all cores")
    return int(value)


def numbers_of(value: Any, name: str) -> list[float] | None:
    """One number, or one per channel."""
    if value is None:
        return None
    import numpy as np

    try:
        return [float(number) for number in np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()]
    except (TypeError, ValueError):
        raise Error(f"[normalization] {name} is {value!r}; give a number, or one per channel") from None


def pixels(normalize: str | None, scale: float | None, mean: Any, std: Any, anyway: bool = False) -> dict[str, Any]:
    return {
        "normalize": normalize,
        "scale": None if scale is None else _number(scale, "scale", "a number"),
        "mean": numbers_of(mean, "mean"),
        "std": numbers_of(std, "std"),
        "anyway": bool(anyway),
    }


def margins(matrix: Any) -> list[float] | None:
    """classes x classes, row = predicted, column = true."""
    if matrix is None:
        return None
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            array = np.asarray(matrix, dtype=np.float32)
    except (TypeError, ValueError):
        raise Error("[margins] the matrix holds something that is no number; give classes x classes numbers") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise Error(f"[margins] the matrix has the shape {array.shape}; give classes x classes numbers, row = predicted")
    return [float(number) for number in array.ravel()]


def part(validation: Any) -> tuple[str | None, Any]:
    """A share or count as C++ takes it, or samples: one of the two is None."""
    if validation is None:
        return None, None
    if isinstance(validation, str):
        return validation, None
    if isinstance(validation, numbers.Number) and not isinstance(validation, bool):
        value = _number(validation, "validation", "a share such as 0.1, a count, or a pair of samples and labels")
        whole = isinstance(validation, numbers.Integral)
        return str(validation) if whole else repr(value), None
    return None, validation


def lam(value: str | float | None) -> dict[str, Any]:
    """A number, "auto" for the best on validation samples, or None for the network's own."""
    if value is None:
        return {}
    if isinstance(value, str):
        if value == "auto":
            return {"search_lambda": True}
        raise Error(f"[refine] lambda is '{value}'; it must be a positive number, or 'auto'")
    return {"lam": _number(value, "lam", "a positive number, or 'auto'")}


def photos(crop: Any, resize: Any, stretch: Any, skip_bad: Any) -> dict[str, Any]:
    """How they become samples; 0: as the network says."""
    sides = crop if isinstance(crop, (tuple, list)) else (crop, crop)
    if len(sides) != 2:
        raise Error(f"[crop] {crop!r} is no size; give a number of pixels, or a pair (height, width)")
    return {
        "crop": (_pixels(sides[0], "crop"), _pixels(sides[1], "crop")),
        "resize": _pixels(resize, "resize"),
        "stretch": bool(stretch),
        "skip_bad": bool(skip_bad),
    }


def _pixels(count: Any, name: str) -> int:
    if count is None:
        return 0
    value = _number(count, name, "a number of pixels")
    if not 1 <= value <= MAX_PIXELS or value != int(value):
        raise Error(f"[{name}] {count} pixels; give 1 to {MAX_PIXELS}")
    return int(value)


def path(name: str | os.PathLike[str]) -> bytes:
    encoded = os.fsencode(name)
    if b"\0" in encoded:
        raise Error("[file] the name has a zero in it; give another")
    return encoded


def _number(value: Any, name: str, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Number) or isinstance(value, complex):
        raise Error(f"[{name.replace('_', '-')}] expected {expected}, not {value!r}")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
