"""From rows to a table: means over languages and seeds, spread over seeds, differences with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from dlfa_adapters.evaluation.compare import Difference
from dlfa_adapters.evaluation.groups import Group, groups
from dlfa_adapters.evaluation.intervals import RESAMPLES, draw_again, generator, interval, p_value, resampled_sums
from dlfa_adapters.evaluation.report import Estimate
from dlfa_adapters.evaluation.scores import CountedScore, mean_of_defined, scores_for
from dlfa_adapters.sweep.results import BASELINE, SweepResult, SweepRow


@dataclass(frozen=True, kw_only=True)
class Line:
    """A variant: its seeds together, in percent.

    Attributes:
        name: Its name.
        seeds: How many there are.
        epoch: The mean of the epochs that were kept.
        dev: The mean source dev score.
        dev_spread: Its standard deviation over seeds; None for a single one.
        means: By group of languages, the mean over seeds of the mean over languages, with its interval.
        spread: By group, the standard deviation over seeds of the mean over languages.
        languages: By language, the mean over seeds, with its interval.
        against: By group and the name of another variant, this one minus the other.
    """

    name: str
    seeds: int
    epoch: float
    dev: float
    dev_spread: float | None
    means: dict[str, Estimate]
    spread: dict[str, float | None]
    languages: dict[str, Estimate]
    against: dict[str, dict[str, Difference]]


@dataclass(frozen=True, kw_only=True)
class SweepTable:
    """The table of a sweep.

    Attributes:
        title: What the scores are.
        groups: Groups of languages by name; the first is the one to look at.
        compared: Names of the baseline and the control.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        lines: A line a variant.
    """

    title: str
    groups: dict[str, Group]
    compared: list[str]
    resamples: int
    seed: int
    lines: list[Line]

    def line(self, name: str) -> Line:
        """The line of a variant."""
        return next(line for line in self.lines if line.name == name)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; no NaN."""
        return asdict(self)


def make_table(result: SweepResult, *, resamples: int = RESAMPLES, seed: int = 0) -> SweepTable:
    """Compare all variants of a sweep.

    Each resample draws the items of a language anew, the same for all variants and seeds, so that what makes an item
    hard cancels out in differences; a score is the mean over seeds. So intervals say how far the score depends on which
    items were scored, for the seeds that were trained; how far it depends on the seed, says the spread.

    Args:
        result: The sweep.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    score = scores_for(result.task)[0]
    variants = result.variants()
    names = list(variants)
    by_language = {language: _resampled(result.rows, language, score, resamples, seed) for language in result.languages}
    owner = np.array([names.index(row.spec.name) for row in result.rows])
    split = groups(result.languages, list(result.sources))
    compared = [name for name in (BASELINE, result.control) if name in variants]
    seeds = {name: np.flatnonzero(owner == i) for i, name in enumerate(names)}
    languages = {language: _by_variant(found, seeds) for language, found in by_language.items()}
    means = {g.name: _mean([by_language[x] for x in g.languages]) for g in split}
    grouped = {name: _by_variant(found, seeds) for name, found in means.items()}
    lines = [
        Line(
            name=name,
            seeds=len(rows),
            epoch=fmean(row.epoch for row in rows),
            dev=fmean(row.dev_score for row in rows),
            dev_spread=_spread([row.dev_score for row in rows]),
            means={group: _estimate(found[name]) for group, found in grouped.items()},
            spread={group: _spread(list(found[0][seeds[name]])) for group, found in means.items()},
            languages={language: _estimate(found[name]) for language, found in languages.items()},
            against={
                group: {other: _difference(found[other], found[name]) for other in compared if other != name}
                for group, found in grouped.items()
            },
        )
        for name, rows in variants.items()
    ]
    return SweepTable(
        title=score.title,
        groups={group.name: group for group in split},
        compared=compared,
        resamples=resamples,
        seed=seed,
        lines=lines,
    )


_Scores = tuple[np.ndarray, np.ndarray]
"""Scores in percent, (rows,), and what they are in each resample, (resamples, rows); NaN where not defined."""


def _resampled(rows: Sequence[SweepRow], language: str, score: CountedScore, resamples: int, seed: int) -> _Scores:
    """The scores of all rows in a language, on the same resamples."""
    counts = np.stack([row.counts[language] for row in rows], axis=1)  # (items, rows, counts)
    random = generator(seed, language)
    sums = resampled_sums(counts.reshape(len(counts), -1), resamples, random)
    samples = 100 * score.score(sums.reshape(resamples, *counts.shape[1:]))
    samples = np.stack([draw_again(column, random) for column in samples.T], axis=1)
    return 100 * score.score(counts.sum(0)), samples


def _mean(languages: Sequence[_Scores]) -> _Scores:
    """The mean over languages, those that have no score left out."""
    values, samples = (np.stack(part, axis=-1) for part in zip(*languages, strict=True))
    return mean_of_defined(values), mean_of_defined(samples)


def _by_variant(scores: _Scores, seeds: dict[str, np.ndarray]) -> dict[str, tuple[float, np.ndarray]]:
    """The means over seeds."""
    values, samples = scores
    return {
        name: (float(mean_of_defined(values[rows])), mean_of_defined(samples[:, rows])) for name, rows in seeds.items()
    }


def _estimate(found: tuple[float, np.ndarray]) -> Estimate:
    return Estimate(_or_none(found[0]), *interval(found[1]))


def _difference(a: tuple[float, np.ndarray], b: tuple[float, np.ndarray]) -> Difference:
    differences = b[1] - a[1]
    return Difference(
        _or_none(a[0]), _or_none(b[0]), _or_none(b[0] - a[0]), *interval(differences), p_value(differences)
    )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 and not np.isnan(values).any() else None
