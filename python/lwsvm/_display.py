"""Progress on the screen: a bar by tqdm where it is installed, else plain lines."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ._format import duration, percent


def wanted(progress: bool | None) -> bool:
    """None: where a person looks on, at a terminal or in a notebook."""
    if progress is not None:
        return bool(progress)
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook has no widgets
            from tqdm.auto import tqdm
        return tqdm
    except ImportError:
        return None


class Silence:
    """Shows nothing, and asks C++ for nothing."""

    progress = update = epoch = message = None

    def close(self) -> None:
        pass


class Bar:
    """tqdm's; `total` in seconds if there is a limit, else in moves or epochs."""

    def __init__(self, tqdm: Any, what: str, unit: str, total: float | None, seconds: bool):
        self._tqdm = tqdm
        self._seconds = seconds
        form = "{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}" if seconds else None
        self._settings = {"total": total, "desc": what, "unit": unit, "bar_format": form, "leave": True}
        self._open: Any = None  # what fails at once leaves no empty bar behind
        self._state: dict[str, str] = {}

    @property
    def _bar(self) -> Any:
        if self._open is None:
            self._open = self._tqdm(**self._settings)
        return self._open

    def message(self, text: str) -> None:
        self._tqdm.write(text, file=sys.stderr)

    def progress(self, now: dict[str, Any]) -> None:
        if "layer" in now:
            where = f"{100 * now['fraction']:.0f}%" if now["layer"] == "sweep" else f"epoch {now['epoch'] + 1}"
            self._state["now"] = f"{now['layer']} {where}"
        elif "running_loss" in now:
            self._state["loss"] = f"{now['running_loss']:.4f}"
        else:
            gap = now["gap"] / now["primal"] if now["primal"] > 0 else 0
            self._state.update(primal=f"{now['primal']:.5f}", gap=percent(gap, 3))
        self._show(0)

    def update(self, update: dict[str, Any]) -> None:
        self._state["F"] = f"{update['after']:.5f}"
        if update["val_accuracy"] is not None:
            self._state["val"] = percent(update["val_accuracy"])
        self._show(1)

    def epoch(self, epoch: dict[str, Any]) -> None:
        if epoch["evaluated"]:
            self._state["F"] = f"{epoch['objective']:.5f}"
            if epoch["val_accuracy"] is not None:
                self._state["val"] = percent(epoch["val_accuracy"])
        self._show(1)

    def _show(self, step: int) -> None:
        self._bar.set_postfix(self._state, refresh=False)
        if self._seconds:
            elapsed = self._bar.format_dict["elapsed"]
            self._bar.n = min(elapsed, self._bar.total)
        else:
            self._bar.update(step)
        self._bar.refresh()

    def close(self) -> None:
        if self._open is not None:
            self._open.close()


class Lines:
    """A line for every update or epoch, on standard error."""

    progress = None

    def message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def update(self, update: dict[str, Any]) -> None:
        outcome = update["reason"] if update["accepted"] else "rejected: " + update["reason"]
        val = "" if update["val_accuracy"] is None else f"  val {percent(update['val_accuracy'])}"
        self.message(
            f"pass {update['pass']} {update['layer']:<10} F {update['before']:.5f} -> {update['after']:.5f}{val}  "
            f"{duration(update['seconds'])}  {outcome}"
        )

    def epoch(self, epoch: dict[str, Any]) -> None:
        if not epoch["evaluated"]:
            return
        val = "" if epoch["val_accuracy"] is None else f"  val {percent(epoch['val_accuracy'])}"
        self.message(
            f"epoch {epoch['epoch']}  objective {epoch['objective']:.5f}  train {percent(epoch['train_accuracy'])}{val}  "
            f"{duration(epoch['seconds'])}"
        )

    def close(self) -> None:
        pass


def open_display(progress: bool | None, what: str, unit: str, total: float | None = None, seconds: bool = False) -> Any:
    if not wanted(progress):
        return Silence()
    tqdm = _tqdm()
    return Bar(tqdm, what, unit, total, seconds) if tqdm is not None else Lines()
