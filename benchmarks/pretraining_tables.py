"""Figures and tables of docs/results/pretraining.md: small BERTs from scratch; see also `translation_tables.py`."""

from collections.abc import Callable, Sequence
from functools import cached_property
from statistics import correlation, fmean
from typing import Any

import pretraining_study
from language_tables import table

Rows = Callable[[str], Any]
Encoder = tuple[str, str, int]
"""Kind, size of the text, window: `("bert", "small", 512)`."""


class Pretraining:
    """The rows of `pretraining_study.py`; where nothing else is said, means over seeds.

    Args:
        rows: Gives a file of docs/results/raw.
        name: Of the file.
    """

    def __init__(self, rows: Rows, name: str = "pretraining.jsonl") -> None:
        self._rows, self._name = rows, name

    @cached_property
    def study(self) -> pretraining_study.Study:
        """All rows."""
        return pretraining_study.Study(self._rows(self._name))

    def words(self) -> list[str]:
        """Word retrieval, a line an encoder."""
        return pretraining_study.words(self.study)

    def transfer(self) -> list[str]:
        """Scores by language, a line an encoder, task and tuning."""
        return pretraining_study.transfer(self.study)

    def losses(self) -> list[str]:
        """What the short window costs."""
        return pretraining_study.losses(self.study)

    def names(self, encoder: Encoder) -> list[str]:
        """One a seed."""
        return self.study.of(*encoder)

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

    def mrrs(self, *encoder: Any, words: Sequence[str] = ()) -> list[float]:
        """In the best layer, the mean over dictionaries or some of them, in %, of each seed."""
        return [
            fmean(self.study.mrr(name, each, self.study.best(name)) for each in words or self.dictionaries)
            for name in self.names(encoder)  # type: ignore[arg-type]
        ]

    def mrr(self, *encoder: Any, words: Sequence[str] = ()) -> float:
        """The mean of `mrrs`."""
        return fmean(self.mrrs(*encoder, words=words))

    def in_layer(self, layer: int, *encoder: Any) -> float:
        """The mean MRR over dictionaries in a layer, in %."""
        names = self.names(encoder)  # type: ignore[arg-type]
        return fmean(self.study.mrr(name, each, str(layer)) for name in names for each in self.dictionaries)

    def higher(self, first: Encoder, second: Encoder) -> int:
        """In how many dictionaries the first has the higher MRR."""
        return sum(self.mrr(*first, words=[x]) > self.mrr(*second, words=[x]) for x in self.dictionaries)

    def half_widths(self, *encoder: Any) -> list[float]:
        """Half of the interval of the MRR of the first seed in each dictionary, in points."""
        name = self.names(encoder)[0]  # type: ignore[arg-type]
        wanted = (f"{name}, {pretraining_study.CONTEXT}", self.study.best(name), "cosine")
        rows = [row for each in self.study.words.values() for row in each["scores"]]
        found = [r["mrr"] for r in rows if (r["system"], r["state"], r["order"]) == wanted]
        return [50 * (row["high"] - row["low"]) for row in found]

    def half_width(self, *encoder: Any) -> float:
        """That of the mean over dictionaries, as if they had no word in common."""
        found = self.half_widths(*encoder)
        return float(sum(each**2 for each in found) ** 0.5 / len(found))

    def by_chance(self) -> list[float]:
        """The MRR of ranks at random in each dictionary, in %, if no translation stands in it twice."""
        items = [row["items"] for row in self.study.words.values()]
        return [100 * sum(1 / rank for rank in range(1, n + 1)) / n for n in items]

    def scores(self, encoder: Encoder, task: str, tuning: str = "features", language: str = "") -> list[float]:
        """In one language, or the mean of all but English, in %, of each seed."""
        found = [self.study.score(name, task, tuning) for name in self.names(encoder)]
        return [each[language] if language else fmean(v for x, v in each.items() if x != "en") for each in found]

    def score(self, encoder: Encoder, task: str, tuning: str = "features", language: str = "") -> float:
        """The mean of `scores`."""
        return fmean(self.scores(encoder, task, tuning, language))

    def gain(self, new: Encoder, old: Encoder, task: str, tuning: str = "features") -> float:
        """By how many points a score is above another."""
        return self.score(new, task, tuning) - self.score(old, task, tuning)

    def goes_with_words(self, task: str, tuning: str = "features") -> float:
        """The rank correlation of MRR and a score over the encoders that have both; no two of them are equal."""
        those = [kind for kind in self.encoders if (task, tuning) in self.study.ways(self.names(kind)[0])]
        mrr, scores = (
            [of(kind) for kind in those] for of in (lambda x: self.mrr(*x), lambda x: self.score(x, task, tuning))
        )
        return correlation([sorted(mrr).index(x) for x in mrr], [sorted(scores).index(x) for x in scores])

    def told(self, *encoder: Any, seed: int = 0) -> dict[str, Any]:
        """What is written down of the pre-training."""
        name = self.names(encoder)[seed]  # type: ignore[arg-type]
        found: dict[str, Any] = self.study.encoders[name]["pretraining"]
        return found

    def perplexities_of(self, *encoder: Any) -> list[float]:
        """On held-out text, of each seed."""
        return [self.told(*encoder, seed=k)["perplexity"] for k in range(len(self.names(encoder)))]  # type: ignore[arg-type]

    def times(self, *encoder: Any) -> float:
        """How often a BERT saw its text."""
        told = self.told(*encoder)
        return float(told["training"]["pieces"] / told["text"]["pieces"])

    def unigram(self, size: str, of: str = "by language") -> float:
        """The perplexity of guessing by frequencies, see `unigrams.py`."""
        return float(next(row[of] for row in self._rows("pretraining-unigrams.json") if row["text"] == size))

    def perplexities(self) -> list[str]:
        """A line for each text: guessing by frequencies, and both BERTs, each seed."""
        lines = []
        for size in pretraining_study.SIZES:
            berts = [self.perplexities_of("bert", size, window) for window in pretraining_study.WINDOWS]
            guessed = [f"{self.unigram(size, of):,.0f}" for of in ("all text", "by language")]
            lines.append([size, *guessed, *(", ".join(f"{x:,.0f}" for x in each) for each in berts)])
        header = ["text", "frequencies of pieces", "of its language", "BERT, window 512", "BERT, window 20"]
        return table(header, lines)

    def growth(self) -> list[str]:
        """A line for each encoder: what it had after the short training, an arrow, and what each seed has now."""
        short, lines = Pretraining(self._rows, "pretraining-short.jsonl"), []
        for encoder in self.encoders:
            pairs = [[of.mrrs(*encoder) for of in (short, self)]]
            ways = self.study.ways(self.names(encoder)[0])
            for way in (("ner", "features"), ("ner", "full"), ("xnli", "full")):
                pairs.append([of.scores(encoder, *way) if way in ways else [] for of in (short, self)])
            told = [of.perplexities_of(*encoder) if encoder in self.berts else [] for of in (short, self)]
            cells = [_moved(*told, 0), *(_moved(*pair, 1) for pair in pairs)]
            lines.append([f"{encoder[1]}, {encoder[0]} {encoder[2]}", *cells])
        return table(["", "perplexity", "MRR", "NER, features", "NER, full", "XNLI, full"], lines)


def _moved(before: Sequence[float], after: Sequence[float], decimals: int) -> str:
    """`508 → 1,055, 568`."""
    old, new = (", ".join(f"{x:,.{decimals}f}" for x in each) for each in (before, after))
    return f"{old} → {new}" if old else ""
