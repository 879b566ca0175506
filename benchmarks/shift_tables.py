"""Figures and tables of docs/results/language-shift.md, from the rows of `language_shift.py`; see `figures.py`."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from language_tables import table

WAYS = ("dev", "text", "one")
"""How alpha is picked: by labels, without them, or not at all: 1."""

COLUMNS = {"dev": "picking", "text": "cosine"}


def alpha_of(row: dict[str, Any], way: str) -> float:
    """The alpha that is picked for a row; among equal ones the smallest, as `dlfa evaluate --shift` does."""
    if way == "one":
        return 1.0
    tried = {float(alpha): value for alpha, value in row[COLUMNS[way]].items()}
    return max(tried, key=lambda alpha: (tried[alpha], -alpha))


def score_of(row: dict[str, Any], way: str | None) -> float:
    """The score of a row at the alpha that is picked; None: as the language is."""
    return float(row["scores"][f"{alpha_of(row, way) if way else 0:g}"])


class Shift:
    """The rows.

    Args:
        task: Whose.
        read: Gives all rows of the file.
    """

    def __init__(self, task: str, read: Callable[[], Iterable[dict[str, Any]]]) -> None:
        self.task, self._read = task, read

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Those of the task."""
        return [row for row in self._read() if row.get("task") == self.task]

    @property
    def heads(self) -> list[str]:
        """Names of heads."""
        return list(dict.fromkeys(row["head"] for row in self.rows))

    @property
    def layers(self) -> list[int]:
        """Layers of shifts."""
        return sorted({row["layer"] for row in self.rows if row.get("layer") is not None})

    @property
    def languages(self) -> list[str]:
        """The targets."""
        return [x for x in dict.fromkeys(row["language"] for row in self.rows) if x != "en"]

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return sorted({row["seed"] for row in self.rows})

    def row(
        self, head: str, language: str, seed: int, layer: int | None = None, centred: bool = False
    ) -> dict[str, Any]:
        """One of them; without a layer, any in which the language is read as it is."""
        wanted = {"head": head, "language": language, "seed": seed, "centred": centred}
        return next(
            row
            for row in self.rows
            if wanted.items() <= row.items() and (row.get("layer") == layer or (layer is None and "0" in row["scores"]))
        )

    def value(self, head: str, language: str, seed: int, how: str, layer: int | None = None) -> float:
        """A score: `plain`, `centred`, or shifted at a layer with alpha picked by one of `WAYS`."""
        if how in ("plain", "centred"):
            return score_of(self.row(head, language, seed, None, how == "centred"), None)
        return score_of(self.row(head, language, seed, layer), how)

    def mean(self, head: str, how: str, layer: int | None = None, languages: Sequence[str] = ()) -> float:
        """The mean over seeds and target languages, or some languages."""
        return fmean(self.value(head, x, seed, how, layer) for x in languages or self.languages for seed in self.seeds)

    def gain(self, head: str, how: str, layer: int | None = None, languages: Sequence[str] = ()) -> float:
        """How much higher than the language as it is."""
        return self.mean(head, how, layer, languages) - self.mean(head, "plain", None, languages)

    def gains(self, head: str, how: str, layer: int | None = None) -> list[float]:
        """The same in each language, over seeds."""
        return [self.gain(head, how, layer, [language]) for language in self.languages]

    def over_seeds(self, head: str, how: str, layer: int | None = None) -> list[float]:
        """The same for each seed, over languages."""
        return [
            fmean(self.value(head, x, seed, how, layer) - self.value(head, x, seed, "plain") for x in self.languages)
            for seed in self.seeds
        ]

    def higher(self, head: str, how: str, layer: int | None = None) -> int:
        """In how many languages it is higher."""
        return sum(gain > 0 for gain in self.gains(head, how, layer))

    def everywhere(self, how: str) -> list[float]:
        """The gain of every head at every shift layer, over languages; of centring, of every head."""
        layers: Sequence[int | None] = [None] if how == "centred" else self.layers
        return [self.gain(head, how, layer) for head in self.heads for layer in layers]

    def picked(self, way: str) -> list[float]:
        """Every alpha that was picked: of all heads, languages, layers and seeds."""
        return [
            alpha
            for head in self.heads
            for language in self.languages
            for layer in self.layers
            for alpha in self.alphas(head, language, layer, way)
        ]

    def alphas(self, head: str, language: str, layer: int, way: str) -> list[float]:
        """What was picked, for each seed."""
        return [alpha_of(self.row(head, language, seed, layer), way) for seed in self.seeds]

    @property
    def sides(self) -> list[tuple[str, int | None]]:
        """All that is compared with languages as they are."""
        ways = [
            way for way in WAYS if all(f"{1:g}" in r["scores"] for r in self.rows if r.get("layer")) or way != "one"
        ]
        return [("centred", None), *((way, layer) for layer in self.layers for way in ways)]

    def table(self) -> list[str]:
        """A line for each head and side: mean over targets, gain, its spread over seeds, languages that gain."""
        names = {"dev": "alpha on dev", "text": "alpha without labels", "one": "alpha 1"}
        lines = []
        for head in self.heads:
            plain = self.mean(head, "plain")
            lines.append(
                [f"{head}, as it is", f"{plain:.1f}", "", "", "", f"{self.mean(head, 'plain', None, ['en']):.1f}"]
            )
            for how, layer in self.sides:
                over = self.over_seeds(head, how, layer)
                name = "centred in training" if layer is None else f"shift at {layer}, {names[how]}"
                spread = f"{stdev(over):.1f}" if len(over) > 1 else ""
                english = f"{self.mean(head, how, None, ['en']):.1f}" if layer is None else ""
                gained = f"{self.higher(head, how, layer)} of {len(self.languages)}"
                cells = [f"{self.mean(head, how, layer):.1f}", f"{fmean(over):+.1f}", spread, gained, english]
                lines.append([f"{head}, {name}", *cells])
        return table(["head", "targets", "gain", "± seeds", "languages that gain", "English"], lines)

    def by_language(self, head: str, layer: int) -> list[str]:
        """A line for each target language: as it is, shifted both ways at one layer with the alphas, centred."""
        lines = []
        for x in self.languages:
            cells = [f"{self.mean(head, 'plain', None, [x]):.1f}"]
            for way in ("dev", "text"):
                picked = ", ".join(f"{alpha:g}" for alpha in self.alphas(head, x, layer, way))
                cells += [f"{self.mean(head, way, layer, [x]):.1f}", f"{self.gain(head, way, layer, [x]):+.1f}", picked]
            lines.append(
                [
                    x,
                    *cells,
                    f"{self.mean(head, 'centred', None, [x]):.1f}",
                    f"{self.gain(head, 'centred', None, [x]):+.1f}",
                ]
            )
        header = ["", "as it is", "dev", "gain", "alphas", "no labels", "gain", "alphas", "centred", "gain"]
        return table(header, lines)


def markdown(rows: list[dict[str, Any]]) -> list[str]:
    """All tables of a file."""
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        shift = Shift(task, lambda: rows)
        lines += [f"# {task}", "", *shift.table(), ""]
        for head in shift.heads:
            for layer in shift.layers:
                lines += [f"## {head}, shifted at layer {layer}", "", *shift.by_language(head, layer), ""]
    return lines
