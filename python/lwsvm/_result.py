"""What a run comes to: the network, what every update did, and a page about it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, NamedTuple

from ._format import duration, percent
from ._network import Network

if TYPE_CHECKING:
    import pandas


class Quality(NamedTuple):
    """What a network is worth; accuracies are shares of 1, None where there is no such part."""

    objective: float  # regulariser + mean loss on the training part
    train_accuracy: float
    val_accuracy: float | None
    test_accuracy: float | None

    def __str__(self) -> str:
        words = [f"objective {self.objective:.5f}", f"train {percent(self.train_accuracy)}"]
        for part, accuracy in (("val", self.val_accuracy), ("test", self.test_accuracy)):
            if accuracy is not None:
                words.append(f"{part} {percent(accuracy)}")
        return "  ".join(words)


class Update(NamedTuple):
    """A move that has ended: the update of one layer, or a sweep over all."""

    pass_: int
    layer: str  # "sweep": all of them
    form: str  # exact, labels, factored, explicit; or sweep
    accepted: bool
    reason: str  # why it ended, or was rejected
    before: float  # objective
    after: float  # the same if it was rejected
    gap: float  # duality gap of a layer's solve
    train_accuracy: float
    val_accuracy: float | None
    seconds: float


def to_update(found: dict[str, Any]) -> Update:
    values = dict(found)
    return Update(pass_=values.pop("pass"), **values)


class RefineResult:
    """What `refine` came to. In a notebook it shows itself.

    `model` is the network that was kept, `start` and `end` what it was worth, `updates` what every move did; `table` is that
    as a list of dicts, which `pandas.DataFrame` takes.
    """

    model: Network
    start: Quality
    end: Quality
    updates: list[Update]
    moves: int
    rejected: int
    rises: int  # of the objective; always 0, but counted
    passes: int
    seconds: float
    finished: bool  # False: stopped, by Ctrl-C or a callback
    interrupted: bool  # by Ctrl-C
    reason: str  # why it ended
    kept: str  # which network was kept
    lam: float
    centre: str  # of the regulariser: zero or start
    judged_samples: int | None  # that the objective was taken over; None: all
    messages: list[str]  # what a person should know

    def __init__(self, model: Network, found: dict[str, Any], messages: list[str]):
        self.model = model
        self.messages = messages
        self.start, self.end = Quality(**found["start"]), Quality(**found["end"])
        self.updates = [to_update(update) for update in found["updates"]]
        self._report = str(found["report"])
        for name in ("moves", "rejected", "rises", "passes", "seconds", "finished", "interrupted", "reason", "kept", "lam",
                     "centre", "judged_samples"):
            setattr(self, name, found[name])

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row per update: `pandas.DataFrame(result.table)`."""
        rows = []
        for move, update in enumerate(self.updates, 1):
            values = update._asdict()
            rows.append({"move": move, "pass": values.pop("pass_"), **values})
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """The table of updates."""
        import pandas

        columns = ["move", "pass", *[field for field in Update._fields if field != "pass_"]]
        return pandas.DataFrame(self.table, columns=columns).set_index("move")

    def plot(self, ax: Any = None) -> Any:
        """The objective and the validation accuracy after every move, with matplotlib; returns the axes of the objective."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot() needs matplotlib: apt install python3-matplotlib, or pip install matplotlib") from None
        if ax is None:
            ax = plt.subplots(figsize=(7, 3.5), layout="constrained")[1]
        moves = range(len(self.updates) + 1)
        ax.plot(moves, [self.start.objective, *[update.after for update in self.updates]], "o-", ms=3, color="tab:blue")
        for move, update in enumerate(self.updates, 1):
            if not update.accepted:
                ax.plot(move, update.after, "x", color="tab:red")
        ax.set(xlabel="move", ylabel="objective F")
        val = [self.start.val_accuracy, *[update.val_accuracy for update in self.updates]]
        known = [100 * accuracy for accuracy in val if accuracy is not None]
        if len(known) == len(val):
            right = ax.twinx()
            right.plot(moves, known, "--", color="tab:green")
            right.set_ylabel("validation accuracy, %")
        return ax

    def __repr__(self) -> str:
        return self._report.rstrip("\n")

    def _repr_html_(self) -> str:
        def quality_row(name: str, quality: Quality) -> str:
            cells = [f"{quality.objective:.5f}", percent(quality.train_accuracy), percent(quality.val_accuracy),
                     percent(quality.test_accuracy)]
            return f"<tr><th>{name}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"

        rows = "".join(
            f"<tr><td>{move}</td><td>{update.pass_}</td><td>{html.escape(update.layer)}</td><td>{update.before:.5f}</td>"
            f"<td>{update.after:.5f}</td><td>{percent(update.val_accuracy)}</td><td>{duration(update.seconds)}</td>"
            f"<td>{'' if update.accepted else 'rejected: '}{html.escape(update.reason)}</td></tr>"
            for move, update in enumerate(self.updates, 1)
        )
        return (
            "<div><table><thead><tr><th></th><th>objective</th><th>train</th><th>val</th><th>test</th></tr></thead><tbody>"
            + quality_row("start", self.start) + quality_row("end", self.end) + "</tbody></table>"
            + _curve([self.start.objective, *[update.after for update in self.updates]])
            + f"<p>{self.moves} moves, {self.rejected} rejected, {self.rises} rises, {duration(self.seconds)}; "
            f"{html.escape(self.reason)}; {html.escape(self.kept)}.</p>"
            "<details><summary>every move</summary><table><thead><tr><th>move</th><th>pass</th><th>layer</th><th>F before</th>"
            f"<th>after</th><th>val</th><th>time</th><th>outcome</th></tr></thead><tbody>{rows}</tbody></table></details></div>"
        )


class TrainResult(NamedTuple):
    """What `train` came to."""

    model: Network
    end: Quality
    epochs: int
    seconds: float  # of training, evaluations left out
    finished: bool  # False: stopped
    interrupted: bool  # by Ctrl-C
    history: list[dict[str, Any]]  # an entry per epoch: pandas.DataFrame(result.history)
    messages: list[str]

    def __repr__(self) -> str:
        return f"{self.end}  {self.epochs} epochs, {duration(self.seconds)}"


def _curve(values: list[float], width: int = 420, height: int = 120) -> str:
    """The objective after every move, as a drawing that needs nothing but a browser."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    points = " ".join(
        f"{10 + i * (width - 20) / (len(values) - 1):.1f},{10 + (high - value) / span * (height - 20):.1f}"
        for i, value in enumerate(values)
    )
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="objective after every move">'
        f'<rect width="{width}" height="{height}" fill="none" stroke="#ccc"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>'
        f'<text x="{width - 12}" y="18" text-anchor="end" font-size="11" fill="#666">'
        f"F {values[0]:.5f} &#8594; {values[-1]:.5f}</text></svg>"
    )
