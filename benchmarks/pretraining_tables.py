"""Figures and tables of docs/results/pretraining.md: small BERTs from scratch, and what one of them translates."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import Any

import pretraining_study
from language_tables import table

Rows = Callable[[str], Any]
Encoder = tuple[str, str, int]
"""Kind, size of the text, window: `("bert", "small", 512)`."""


class Pretraining:
    """The rows of `pretraining_study.py`.

    Args:
        rows: Gives a file of docs/results/raw.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @cached_property
    def study(self) -> pretraining_study.Study:
        """All rows."""
        return pretraining_study.Study(self._rows("pretraining.jsonl"))

    def words(self) -> list[str]:
        """Word retrieval, a line an encoder."""
        return pretraining_study.words(self.study)

    def transfer(self) -> list[str]:
        """Scores by language, a line an encoder, task and tuning."""
        return pretraining_study.transfer(self.study)

    def losses(self) -> list[str]:
        """What the short window costs."""
        return pretraining_study.losses(self.study)

    def name(self, encoder: Encoder) -> str:
        """The one of the first seed."""
        return self.study.of(*encoder)[0]

    @property
    def berts(self) -> list[Encoder]:
        """All BERTs."""
        return [kind for kind in self.study.kinds() if kind[0] == "bert"]

    @property
    def encoders(self) -> list[Encoder]:
        """All of them."""
        return self.study.kinds()

    @property
    def dictionaries(self) -> list[str]:
        """Their names."""
        return list(self.study.words)

    def mrr(self, *encoder: Any, words: Sequence[str] = ()) -> float:
        """In its best layer, the mean over dictionaries or some of them, in %."""
        name = self.name(encoder)  # type: ignore[arg-type]
        best = self.study.best(name)
        return fmean(self.study.mrr(name, each, best) for each in words or self.dictionaries)

    def higher(self, first: Encoder, second: Encoder) -> int:
        """In how many dictionaries the first has the higher MRR."""
        return sum(self.mrr(*first, words=[x]) > self.mrr(*second, words=[x]) for x in self.dictionaries)

    def half_width(self, *encoder: Any) -> float:
        """Half of the widest interval of its MRR, over dictionaries, in points."""
        name = self.name(encoder)  # type: ignore[arg-type]
        wanted = (f"{name}, {pretraining_study.CONTEXT}", self.study.best(name), "cosine")
        rows = [row for each in self.study.words.values() for row in each["scores"]]
        found = [r["mrr"] for r in rows if (r["system"], r["state"], r["order"]) == wanted]
        return max(50 * (row["high"] - row["low"]) for row in found)

    def by_chance(self) -> list[float]:
        """The MRR of ranks at random in each dictionary, in %, if no translation stands in it twice."""
        items = [row["items"] for row in self.study.words.values()]
        return [100 * sum(1 / rank for rank in range(1, n + 1)) / n for n in items]

    def score(self, encoder: Encoder, task: str, tuning: str = "features", language: str | None = None) -> float:
        """In one language, or the mean of all but English, in %."""
        scores = self.study.score(self.name(encoder), task, tuning)
        return scores[language] if language else fmean(value for x, value in scores.items() if x != "en")

    def told(self, *encoder: Any) -> dict[str, Any]:
        """What is written down of the pre-training."""
        found: dict[str, Any] = self.study.encoders[self.name(encoder)]["pretraining"]  # type: ignore[arg-type]
        return found

    def times(self, *encoder: Any) -> float:
        """How often a BERT saw its text."""
        told = self.told(*encoder)
        return float(told["training"]["pieces"] / told["text"]["pieces"])

    def unigram(self, size: str, of: str = "by language") -> float:
        """The perplexity of guessing by frequencies, see `unigrams.py`."""
        return float(next(row[of] for row in self._rows("pretraining-unigrams.json") if row["text"] == size))

    def perplexities(self) -> list[str]:
        """A line for each text: guessing by frequencies, and both BERTs."""
        lines = []
        for size in pretraining_study.SIZES:
            berts = [self.told("bert", size, window) for window in pretraining_study.WINDOWS]
            guessed = [f"{self.unigram(size, of):,.0f}" for of in ("all text", "by language")]
            lines.append([size, *guessed, *(f"{bert['perplexity']:.0f}" for bert in berts)])
        header = ["text", "frequencies of pieces", "of its language", "BERT, window 512", "BERT, window 20"]
        return table(header, lines)


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
