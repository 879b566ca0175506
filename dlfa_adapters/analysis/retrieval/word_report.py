"""What was found of words: scores, which words had no vector, tables and notes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dlfa_adapters.analysis.retrieval.scored import Retrieval
from dlfa_adapters.analysis.retrieval.show import Results
from dlfa_adapters.scores.intervals import few_items
from dlfa_adapters.scores.show import TextTable

MRR = "mrr"
AT = (1, 5, 10)
"""The k of precision@k."""


@dataclass(frozen=True)
class Coverage:
    """Which pairs of a dictionary a system has vectors for.

    Attributes:
        languages: Name of the dictionary.
        system: The system.
        pairs: Pairs of the dictionary.
        covered: Pairs of which it has both words.
        sources_missing: Words that it has not.
        targets_missing: Translations that it has not.
        measured: Pairs that all systems of this dictionary have: those that scores are of.
        learnt_on: Pairs of the training dictionary that its map was learnt on; None where there is none.
    """

    languages: str
    system: str
    pairs: int
    covered: int
    sources_missing: int
    targets_missing: int
    measured: int
    learnt_on: int | None


@dataclass(frozen=True)
class Words:
    """What `measure_words` found.

    Attributes:
        retrievals: One a dictionary.
        coverage: One a dictionary and system.
    """

    retrievals: list[Retrieval]
    coverage: list[Coverage]

    def to_dict(self) -> list[dict[str, Any]]:
        """The coverage for JSON."""
        return [asdict(each) for each in self.coverage]


def word_results(found: Words, at: Sequence[int] = AT) -> Results:
    """What `measure_words` gave, for tables and plots."""
    return Results(found.retrievals, MRR, "MRR, %", {f"p@{k}": f"P@{k}" for k in at})


def coverage_table(found: Words) -> TextTable:
    """What was out of vocabulary."""
    learnt = any(each.learnt_on is not None for each in found.coverage)
    rows = [
        [
            f"{each.languages}: {each.system}",
            *(f"{count:,}" for count in (each.pairs, each.sources_missing, each.targets_missing, each.covered)),
            f"{each.measured:,}",
            *([f"{each.learnt_on:,}"] if each.learnt_on is not None else []),
        ]
        for each in found.coverage
    ]
    header = ["", "pairs", "words without", "translations without", "pairs with", "measured", *["map from"] * learnt]
    return TextTable(header, rows, "Words with and without a vector")


def word_notes(results: Results, found: Words) -> list[str]:
    """What a reader of the tables has to know."""
    notes = [
        "MRR: mean of 1 / rank over pairs; P@k: words with a translation among the k nearest. Candidates are the "
        "translations of the pairs that are measured, those of which all kinds of vectors have both words.",
        "centred: the mean of each language is taken off. csls: hubs are moved away. mapped: rotated onto the other "
        "language by a map learnt on the training dictionary.",
    ]
    if apart := [each.name for each in results.retrievals if each not in results.complete]:
        notes.append(f"Not in the means: {', '.join(apart)}, where some kinds of vectors lack a language.")
    notes.append("The best layer was chosen on these words: its score is a little too good.")
    return [*notes, *few_items([(each.name, each.items) for each in results.retrievals])]
