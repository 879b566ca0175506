"""Differences between models on the same items: paired on the same resamples, one alone and many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dlfa_adapters.predict.predictions import Predictions
from dlfa_adapters.scores.intervals import interval, p_value
from dlfa_adapters.scores.items import CountedScore, mean_of_defined
from dlfa_adapters.scores.resampling import Sums, resample_languages
from dlfa_adapters.scores.simultaneous import Simultaneous, simultaneous
from dlfa_adapters.scores.translations import Translations


@dataclass(frozen=True)
class Difference:
    """B minus A, for one score; None where it is not defined for both.

    Attributes:
        a: The score of A.
        b: The score of B.
        difference: B minus A.
        low: Lower end of the paired bootstrap interval of the difference.
        high: Upper end.
        p_value: Two-sided, from the same resamples; see `intervals.p_value`. For this difference alone.
        simultaneous_low: Lower end of the interval that holds together with those of all differences that are tested at
            once, see `simultaneous.simultaneous`; None where this is the only one.
        simultaneous_high: Its upper end.
        adjusted_p: The p-value adjusted for their number.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    simultaneous_low: float | None = None
    simultaneous_high: float | None = None
    adjusted_p: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval to look at: the one for all differences at once, where there are others."""
        if self.adjusted_p is None:
            return self.low, self.high
        return self.simultaneous_low, self.simultaneous_high


@dataclass(frozen=True)
class Paired:
    """Both scores of some data, and the resampled differences."""

    a: float
    b: float
    samples: np.ndarray

    @property
    def defined(self) -> bool:
        """Whether both have a score."""
        return not np.isnan(self.a) and not np.isnan(self.b)

    def difference(self, items: int, at_once: Simultaneous | None = None) -> Difference:
        """With interval and p-values, where there are two items or more; `at_once` is what `simultaneous` gives."""
        a, b = (None if np.isnan(value) else float(value) for value in (self.a, self.b))
        if a is None or b is None:
            return Difference(a, b, None, None, None, None)
        if items < 2:
            return Difference(a, b, b - a, None, None, None)
        alone = (*interval(self.samples), p_value(self.samples))
        return Difference(a, b, b - a, *alone, *(at_once or (None, None, None)))


def pair_models(
    models: Sequence[Predictions],
    scores: Sequence[CountedScore],
    translations: Translations | None,
    resamples: int,
    seed: int,
) -> dict[str, dict[str, list[Paired]]]:
    """By language and score, every other model beside the first, all on the same resamples."""
    by_model = [{each.language: each for each in model.languages} for model in models]
    counts = {
        language: [s.counts(x[language].predicted, x[language].gold) for s in scores for x in by_model]
        for language in by_model[0]
    }
    sums = resample_languages(
        {language: np.concatenate(parts, axis=1) for language, parts in counts.items()}, translations, resamples, seed
    )
    return {language: _pairs_of(parts, sums[language], scores, len(models)) for language, parts in counts.items()}


def _pairs_of(
    counts: Sequence[np.ndarray], sums: Sums, scores: Sequence[CountedScore], models: int
) -> dict[str, list[Paired]]:
    parts = iter(np.split(sums.values, np.cumsum([part.shape[1] for part in counts])[:-1], axis=1))
    totals = iter(part.sum(axis=0) for part in counts)
    found = {}
    for score in scores:
        values = [float(score.score(next(totals))) for _ in range(models)]
        drawn = [score.score(next(parts)) for _ in range(models)]
        found[score.name] = [
            Paired(values[0], value, sums.again(samples - drawn[0]))
            for value, samples in zip(values[1:], drawn[1:], strict=True)
        ]
    return found


def at_once(cells: Sequence[Sequence[Paired]], items: Sequence[int]) -> list[list[Difference]]:
    """The differences of some models (rows) in some languages (columns, with their sizes), tested all at once."""
    tested = [(j, i) for j, row in enumerate(cells) for i, pair in enumerate(row) if pair.defined and items[i] > 1]
    adjusted: Mapping[tuple[int, int], Simultaneous] = {}
    if len(tested) > 1:
        pairs = [cells[j][i] for j, i in tested]
        found = simultaneous([pair.b - pair.a for pair in pairs], [pair.samples for pair in pairs])
        adjusted = dict(zip(tested, found, strict=True))
    return [
        [pair.difference(number, adjusted.get((j, i))) for i, (pair, number) in enumerate(zip(row, items, strict=True))]
        for j, row in enumerate(cells)
    ]


def mean_difference(members: list[Paired]) -> Paired:
    """The mean over the languages in which both have a score."""
    if len(members) == 1:
        return members[0]
    defined = [member for member in members if member.defined]
    if not defined:
        return Paired(np.nan, np.nan, np.empty(0))
    samples = mean_of_defined(np.stack([member.samples for member in defined], axis=-1))
    return Paired(float(np.mean([m.a for m in defined])), float(np.mean([m.b for m in defined])), samples)
