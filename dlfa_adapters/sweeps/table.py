"""From rows to a table: means over languages and seeds, spread over seeds, differences with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from dlfa_adapters.learning.rate_choice import Choice
from dlfa_adapters.scores.groups import Group, groups
from dlfa_adapters.scores.intervals import RESAMPLES, interval, p_value
from dlfa_adapters.scores.items import CountedScore, mean_of_defined, scores_for
from dlfa_adapters.scores.paired import Difference
from dlfa_adapters.scores.report import Estimate
from dlfa_adapters.scores.resampling import Sums, resample_languages
from dlfa_adapters.scores.simultaneous import simultaneous
from dlfa_adapters.scores.translations import Drawn
from dlfa_adapters.sweeps.results import BASELINE, SweepResult


@dataclass(frozen=True, kw_only=True)
class Line:
    """A variant: its seeds together, in percent.

    Attributes:
        name: Its name.
        seeds: How many there are.
        rates: The learning rates, chosen on source dev, and what they were chosen from.
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
    rates: Choice
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
        drawn: How languages are drawn in a resample; None for a single one.
    """

    title: str
    groups: dict[str, Group]
    compared: list[str]
    resamples: int
    seed: int
    lines: list[Line]
    drawn: Drawn | None = None

    def line(self, name: str) -> Line:
        """The line of a variant."""
        return next(line for line in self.lines if line.name == name)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; no NaN."""
        return {**asdict(self), "lines": [{**asdict(line), "rates": line.rates.to_dict()} for line in self.lines]}


def make_table(result: SweepResult, *, resamples: int = RESAMPLES, seed: int = 0) -> SweepTable:
    """Compare all variants of a sweep.

    Each resample draws the items of a language anew, the same for all variants and seeds, so that what makes an item
    hard cancels out in differences; translations of each other are drawn together in all languages. A score is the mean
    over seeds. So intervals say how far the score depends on which items were scored, for the seeds that were trained;
    how far it depends on the seed, says the spread.
    Differences have intervals and p-values for themselves, and for all variants that are held against the same one at
    once, see `evaluation.simultaneous`.

    Args:
        result: The sweep.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    score = scores_for(result.task)[0]
    variants = result.variants()
    names = list(variants)
    counts = {x: np.stack([row.counts[x] for row in result.rows], axis=1) for x in result.languages}
    flat = {x: part.reshape(len(part), -1) for x, part in counts.items()}  # (items, rows * counts)
    sums = resample_languages(flat, result.translations, resamples, seed)
    by_language = {x: _resampled(part, sums[x], score) for x, part in counts.items()}
    owner = np.array([names.index(row.spec.name) for row in result.rows])
    split = groups(result.languages, list(result.sources), result.task.name)
    compared = [name for name in (BASELINE, result.control) if name in variants]
    seeds = {name: np.flatnonzero(owner == i) for i, name in enumerate(names)}
    languages = {language: _by_variant(found, seeds) for language, found in by_language.items()}
    means = {g.name: _mean([by_language[x] for x in g.languages]) for g in split}
    grouped = {name: _by_variant(found, seeds) for name, found in means.items()}
    against = {group: {other: _differences(found, other) for other in compared} for group, found in grouped.items()}
    lines = [
        Line(
            name=name,
            seeds=len(rows),
            rates=rows[0].rates,
            epoch=fmean(row.epoch for row in rows),
            dev=fmean(row.dev_score for row in rows),
            dev_spread=_spread([row.dev_score for row in rows]),
            means={group: _estimate(found[name]) for group, found in grouped.items()},
            spread={group: _spread(list(found[0][seeds[name]])) for group, found in means.items()},
            languages={language: _estimate(found[name]) for language, found in languages.items()},
            against={
                group: {other: differences[name] for other, differences in found.items() if other != name}
                for group, found in against.items()
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
        drawn=None if result.translations is None else result.translations.drawn,
    )


_Scores = tuple[np.ndarray, np.ndarray]
"""Scores in percent, (rows,), and what they are in each resample, (resamples, rows); NaN where not defined."""


def _resampled(counts: np.ndarray, sums: Sums, score: CountedScore) -> _Scores:
    """The scores of all rows in a language, on the same resamples, from counts (items, rows, counts)."""
    samples = 100 * score.score(sums.values.reshape(-1, *counts.shape[1:]))
    samples = np.stack([sums.again(column) for column in samples.T], axis=1)
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


def _differences(found: dict[str, tuple[float, np.ndarray]], other: str) -> dict[str, Difference]:
    """All variants but one minus that one, each alone and all at once."""
    value, drawn = found[other]
    samples = {name: theirs - drawn for name, (_, theirs) in found.items() if name != other}
    tested = [name for name, differences in samples.items() if not np.isnan(differences).any()]
    at_once = {}
    if len(tested) > 1:
        adjusted = simultaneous([found[name][0] - value for name in tested], [samples[name] for name in tested])
        at_once = dict(zip(tested, adjusted, strict=True))
    return {
        name: Difference(
            _or_none(value),
            _or_none(found[name][0]),
            _or_none(found[name][0] - value),
            *interval(differences),
            p_value(differences),
            *at_once.get(name, (None, None, None)),
        )
        for name, differences in samples.items()
    }


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 and not np.isnan(values).any() else None
