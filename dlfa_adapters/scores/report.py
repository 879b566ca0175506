"""The report: every score of every language with its interval, the means, and what happened to the data.

All of it is plain values, so that JSON holds everything: fractions, and None where a score is not defined.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dlfa_adapters.scores.intervals import LEVEL, Estimate
from dlfa_adapters.scores.translations import EARLIER, Drawn

FORMAT = 1
ABOUT = ("run", "data", "versions")
"""What a report says about run and data; the names of the parts in its JSON."""


@dataclass(frozen=True, kw_only=True)
class LanguageReport:
    """One language.

    Attributes:
        language: As the data spell it.
        family: Its family, or None if the table of families does not have it.
        branch: The branch of the family.
        is_source: Whether the model was trained on labels in this language.
        items: Sentences, or texts.
        words_total: Gold words; None for classification.
        words_scored: Words with a prediction, equal to `words_total`; None for classification.
        support: What the main metric counts in gold: spans, words or items.
        scores: Every score of the task by name.
        counts: What the tokenizer did to the words or texts.
        unknown_gold_labels: Labels that the model does not have, and how often they occur; they count as missed.
        fingerprint: Hash of inputs and gold labels.
        details: The full result of each metric by its main score, with a row for each type or label.
    """

    language: str
    family: str | None
    branch: str | None
    is_source: bool
    items: int
    words_total: int | None
    words_scored: int | None
    support: int
    scores: dict[str, Estimate]
    counts: dict[str, int]
    unknown_gold_labels: dict[str, int]
    fingerprint: str
    details: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MeanReport:
    """The unweighted mean over a group of languages.

    Attributes:
        name: Name of the group, see `groups.groups`.
        title: What it is called in a table.
        languages: The languages of the group.
        scores: The mean of each score over the languages that have one.
        undefined: Score -> languages of the group that have none, which its mean leaves out.
    """

    name: str
    title: str
    languages: list[str]
    scores: dict[str, Estimate]
    undefined: dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Languages and means."""

    languages: list[LanguageReport]
    means: list[MeanReport]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The evaluation of one model on one source of data.

    Attributes:
        task: Name, kind, metric, labels, and whether its data are parallel.
        titles: Name -> title of every score, the main one first.
        source_languages: Languages that the model has seen labels of.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        about: What is known of run and data: folders, split, limit, what was left out and why, versions.
        table: Languages and means.
        without_placeholders: The same table without the pairs that are none (PAWS-X); None where all are.
        drawn: How languages are drawn in a resample; None for a single one.
    """

    task: dict[str, Any]
    titles: dict[str, str]
    source_languages: list[str]
    resamples: int
    seed: int
    about: dict[str, Any]
    table: Table
    without_placeholders: Table | None
    drawn: Drawn | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; no NaN."""
        table, without = asdict(self.table), self.without_placeholders
        return {
            "format": FORMAT,
            "task": self.task,
            "scores": self.titles,
            "source_languages": self.source_languages,
            "interval": {"level": LEVEL, "method": "percentile bootstrap over items", "resamples": self.resamples,
                         "seed": self.seed, "languages": None if self.drawn is None else asdict(self.drawn)},
            **self.about,
            **table,
            "without_placeholders": None if without is None else asdict(without),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Report":
        """The report that `to_dict` made the values of.

        Raises:
            KeyError: If one is missing.
            TypeError: If one is of another kind.
        """
        without, drawn = values["without_placeholders"], EARLIER if len(values["languages"]) > 1 else None
        if "languages" in values["interval"]:
            drawn = Drawn.from_dict(values["interval"]["languages"])
        return cls(
            task=values["task"],
            titles=values["scores"],
            source_languages=values["source_languages"],
            resamples=values["interval"]["resamples"],
            seed=values["interval"]["seed"],
            about={name: values[name] for name in ABOUT if name in values},
            table=_table(values),
            without_placeholders=None if without is None else _table(without),
            drawn=drawn,
        )


def _table(values: Mapping[str, Any]) -> Table:
    def with_scores(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "scores": {name: Estimate(**score) for name, score in row["scores"].items()}}

    return Table(
        languages=[LanguageReport(**with_scores(row)) for row in values["languages"]],
        means=[MeanReport(**with_scores(row)) for row in values["means"]],
    )
