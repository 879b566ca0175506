"""Figures and tables of what a shifted BERT from scratch writes, on docs/results/pretraining.md."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from language_tables import table

Rows = Callable[[str], Any]


class Translation:
    """The rows of `dlfa analyze translate`.

    Args:
        rows: Gives a file of docs/results/raw.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """By target language."""
        return {row["languages"][1]: row for row in self._rows("translation.jsonl")}

    @property
    def targets(self) -> list[str]:
        """The target languages."""
        return list(self.rows)

    def scores(self, target: str, layer: int | str, alpha: float = 0.0) -> dict[str, Any]:
        """Of a shift, or of `copy`, `unshifted`, `best`: that of the highest BLEU-1."""
        row = self.rows[target]
        if layer == "best":
            layer, alpha = row["best"]["layer"], row["best"]["alpha"]
        if isinstance(layer, str):
            found: dict[str, Any] = row[layer]
            return found
        return next(cell["scores"] for cell in row["cells"] if (cell["layer"], cell["alpha"]) == (layer, alpha))

    def value(self, target: str, layer: int | str, alpha: float = 0.0, of: str = "bleu_1") -> float:
        """One of the scores in %; nan where there is none."""
        value = self.scores(target, layer, alpha)[of]["value"]
        return float("nan") if value is None else 100 * value

    def all(self, of: str, layers: Sequence[int] = ()) -> list[float]:
        """A score of every shift, or those of some layers."""
        return [
            self.value(target, cell["layer"], cell["alpha"], of)
            for target, row in self.rows.items()
            for cell in row["cells"]
            if not layers or cell["layer"] in layers
        ]

    def rises(self, of: str, layer: int, target: str) -> bool:
        """Whether a score never falls as alpha grows from 0."""
        alphas = sorted({cell["alpha"] for cell in self.rows[target]["cells"]})
        values = [self.value(target, "unshifted", of=of), *(self.value(target, layer, alpha, of) for alpha in alphas)]
        return all(a <= b for a, b in pairwise(values))

    def best_gap(self, target: str) -> float:
        """The highest gap of all shifts, in points."""
        row = self.rows[target]
        return max(self.value(target, cell["layer"], cell["alpha"], "gap") for cell in row["cells"])

    def more_gap(self, target: str, alpha: float) -> list[float]:
        """By how much the gap of a shift is above that of the input, layer by layer, in points."""
        before, depth = self.value(target, "copy", of="gap"), self.rows[target]["depth"]
        return [self.value(target, layer, alpha, "gap") - before for layer in range(1, depth + 1)]

    def gaps_apart(self, target: str, sign: int = 1) -> int:
        """How many shifts have a gap whose interval is wholly above that of the input; with -1, wholly below it."""
        row = self.rows[target]
        near, far = ("high", "low") if sign > 0 else ("low", "high")
        edge = row["copy"]["gap"][near]
        return sum(sign * (cell["scores"]["gap"][far] - edge) > 0 for cell in row["cells"])

    def table(self) -> list[str]:
        """A line for each direction and the input, what comes out without a shift, and the best shift."""
        lines = []
        for target, row in self.rows.items():
            best = "layer {layer}, alpha {alpha:g}".format(**row["best"])
            for what, key in (("the input", "copy"), ("no shift", "unshifted"), (best, "best")):
                scores = self.scores(target, key)
                cells = [f"{self.value(target, key, of=of):.1f}" for of in ("bleu_1", "others")]
                gap = "{value:.1f} ({low:.1f} to {high:.1f})".format(**{k: 100 * v for k, v in scores["gap"].items()})
                rate = f"{self.value(target, key, of='convert_rate'):.0f}"
                lines.append([f"en → {target}, {what}", *cells, gap, rate])
        return table(["", "BLEU-1", "others", "gap", "convert rate"], lines)

    def grid(self, of: str, decimals: int = 0) -> list[str]:
        """A line a layer: a score at each alpha, a column a direction."""
        lines = []
        for layer in range(1, next(iter(self.rows.values()))["depth"] + 1):
            cells = []
            for target, row in self.rows.items():
                alphas = sorted({cell["alpha"] for cell in row["cells"]})
                values = [self.value(target, layer, alpha, of) for alpha in alphas]
                cells.append(" / ".join("–" if x != x else f"{x:.{decimals}f}" for x in values))
            lines.append([str(layer), *cells])
        return table(["layer", *(f"en → {target}" for target in self.targets)], lines)
