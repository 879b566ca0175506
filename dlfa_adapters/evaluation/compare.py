"""Two models on the same sentences: differences with paired intervals and p-values."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dlfa_adapters.errors import ConfigError, DataError
from dlfa_adapters.evaluation.groups import groups
from dlfa_adapters.evaluation.intervals import (
    LEVEL,
    RESAMPLES,
    draw_again,
    generator,
    interval,
    p_value,
    resampled_sums,
)
from dlfa_adapters.evaluation.predictions import Predicted, Predictions
from dlfa_adapters.evaluation.progress import Progress
from dlfa_adapters.evaluation.report import FORMAT
from dlfa_adapters.evaluation.scores import CountedScore, mean_of_defined, scores_for


@dataclass(frozen=True)
class Difference:
    """B minus A, for one score; None where it is not defined for both.

    Attributes:
        a: The score of A.
        b: The score of B.
        difference: B minus A.
        low: Lower end of the paired bootstrap interval of the difference.
        high: Upper end.
        p_value: Two-sided, from the same resamples; see `intervals.p_value`. Not corrected for the number of languages.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None


@dataclass(frozen=True)
class DifferenceRow:
    """The differences of one language, or the mean over a group of them.

    Attributes:
        name: The language, or the name of the group.
        title: What it is called in a table.
        languages: The language, or those of the group.
        items: Sentences or texts, of all these languages.
        scores: Difference by score.
    """

    name: str
    title: str
    languages: list[str]
    items: int
    scores: dict[str, Difference]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Model B against model A.

    Attributes:
        a: Name of A.
        b: Name of B.
        titles: Name -> title of every score, the main one first.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        about_a: What is known of A and its data.
        about_b: What is known of B and its data.
        languages: A row a language.
        means: A row a group.
    """

    a: str
    b: str
    titles: dict[str, str]
    resamples: int
    seed: int
    about_a: dict[str, Any]
    about_b: dict[str, Any]
    languages: list[DifferenceRow]
    means: list[DifferenceRow]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; no NaN."""
        whole = asdict(self)
        interval = {"level": LEVEL, "method": "paired percentile bootstrap over items",
                    "resamples": whole.pop("resamples"), "seed": whole.pop("seed")}  # fmt: skip
        return {"format": FORMAT, "scores": whole.pop("titles"), "interval": interval, **whole}


@dataclass(frozen=True)
class _Paired:
    """Both scores of some data, and the resampled differences."""

    a: float
    b: float
    samples: np.ndarray

    @property
    def defined(self) -> bool:
        return not np.isnan(self.a) and not np.isnan(self.b)

    def difference(self, items: int) -> Difference:
        a, b = (None if np.isnan(value) else float(value) for value in (self.a, self.b))
        if a is None or b is None:
            return Difference(a, b, None, None, None, None)
        if items < 2:
            return Difference(a, b, b - a, None, None, None)
        return Difference(a, b, b - a, *interval(self.samples), p_value(self.samples))


def compare(
    a: Predictions,
    b: Predictions,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two models on the same data.

    In each resample the same sentences are drawn for both, so that what makes a sentence hard cancels out. The mean
    over languages resamples each language on its own.

    Args:
        a: Predictions of the one model.
        b: Predictions of the other.
        resamples: Bootstrap resamples.
        seed: Of the resampling; each language has random numbers of its own.
        progress: Called after each language.

    Returns:
        B minus A.

    Raises:
        ConfigError: If the two have different scores, or `resamples` or `seed` is out of range.
        DataError: If the two were not evaluated on the same words, texts and gold labels.
    """
    scores = scores_for(a.task)
    if [s.name for s in scores] != [s.name for s in scores_for(b.task)]:
        raise ConfigError(
            f"expected two models for one kind of task, got {a.name} for {a.task.name} ({a.task.metric}) and {b.name} "
            f"for {b.task.name} ({b.task.metric})."
        )
    check_same_data(a, b)
    of_b = {language.language: language for language in b.languages}
    paired, rows = {}, []
    for language in a.languages:
        name, items = language.language, len(language.gold)
        paired[name] = _pair(language, of_b[name], scores, resamples, seed)
        found = {score: pair.difference(items) for score, pair in paired[name].items()}
        rows.append(DifferenceRow(name, name, [name], items, found))
        if progress is not None:
            progress("Comparing", 1, len(a.languages))
    sources = list(dict.fromkeys([*a.source_languages, *b.source_languages]))
    sizes = {row.name: row.items for row in rows}
    means = []
    for group in groups(list(sizes), sources):
        items = sum(sizes[language] for language in group.languages)
        found = {s.name: _mean([paired[x][s.name] for x in group.languages]).difference(items) for s in scores}
        means.append(DifferenceRow(group.name, group.title, list(group.languages), items, found))
    return Comparison(
        a=a.name,
        b=b.name,
        titles={score.name: score.title for score in scores},
        resamples=resamples,
        seed=seed,
        about_a=a.about,
        about_b=b.about,
        languages=rows,
        means=means,
    )


def check_same_data(a: Predictions, b: Predictions) -> None:
    """Checks by fingerprint that two models were asked the same.

    Raises:
        DataError: If languages, inputs or gold labels differ.
    """
    in_a, in_b = ({x.language: x.fingerprint() for x in each.languages} for each in (a, b))
    if in_a == in_b:
        return
    differ = [x for x in dict.fromkeys([*in_a, *in_b]) if in_a.get(x) != in_b.get(x)]
    lines = ", ".join(f"{x} ({in_a.get(x, 'none')} and {in_b.get(x, 'none')})" for x in differ[:5])
    more = f" and {len(differ) - 5} more languages" if len(differ) > 5 else ""
    raise DataError(
        f"expected both to be evaluated on the same data, but {a.name} and {b.name} differ in the fingerprints of "
        f"{lines}{more}; evaluate both with the same --data, --split, --languages and --limit."
    )


def _pair(
    a: Predicted, b: Predicted, scores: tuple[CountedScore, ...], resamples: int, seed: int
) -> dict[str, _Paired]:
    """Every score of a language, both models on the same resamples."""
    counts = [score.counts(side.predicted, side.gold) for score in scores for side in (a, b)]
    random = generator(seed, a.language)
    sums = resampled_sums(np.concatenate(counts, axis=1), resamples, random)
    parts = iter(np.split(sums, np.cumsum([part.shape[1] for part in counts])[:-1], axis=1))
    totals = iter(part.sum(axis=0) for part in counts)
    return {
        score.name: _Paired(
            float(score.score(next(totals))),
            float(score.score(next(totals))),
            draw_again(-score.score(next(parts)) + score.score(next(parts)), random),
        )
        for score in scores
    }


def _mean(members: list[_Paired]) -> _Paired:
    """The mean over the languages in which both have a score."""
    defined = [member for member in members if member.defined]
    if not defined:
        return _Paired(np.nan, np.nan, np.empty(0))
    samples = mean_of_defined(np.stack([member.samples for member in defined], axis=-1))
    return _Paired(float(np.mean([m.a for m in defined])), float(np.mean([m.b for m in defined])), samples)
