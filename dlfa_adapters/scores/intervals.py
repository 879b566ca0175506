"""Scores and differences with their intervals and p-values, from resamples; several differences alone and all at once.

Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13 (percentile intervals); Koehn 2004,
"Statistical Significance Tests for Machine Translation Evaluation" (the paired form, on the same sentences).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
ROUNDING = 1e-12
"""What sums of the same fractions in another order differ by at most: no difference, and no other deviation."""
FEW = 30
"""Fewer items than this hold too few of what can occur: the bootstrap then gives intervals that are too narrow."""


@dataclass(frozen=True)
class Estimate:
    """A score with its bootstrap interval, all None where the score is not defined.

    A single item has a score and no interval: nothing can be said about the spread.
    """

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, value: float, samples: np.ndarray, items: int = 2) -> "Estimate":
        """From a score and its resamples (NaN: not defined); `items` is how many there are: of one, no interval."""
        if np.isnan(value):
            return cls(None, None, None)
        return cls(float(value), *(interval(samples) if items > 1 else (None, None)))


@dataclass(frozen=True)
class Difference:
    """B minus A, for one score; None where it is not defined for both.

    Attributes:
        a: The score of A.
        b: The score of B.
        difference: B minus A.
        low: Lower end of the paired bootstrap interval of the difference.
        high: Upper end.
        p_value: Two-sided, from the same resamples; see `p_value`. For this difference alone.
        simultaneous_low: Lower end of the interval that holds together with those of all differences that are tested at
            once, see `simultaneous`; None where this is the only one.
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
    """The scores of A and B on some data, and what B minus A is in each resample; NaN where it is not defined.

    Attributes:
        a: The score of A.
        b: The score of B.
        samples: (resamples,).
        items: How many items there are; of several languages, in the one with the most. What counts is whether there
            is more than one; the default says that there is.
    """

    a: float
    b: float
    samples: np.ndarray
    items: int = 2

    @property
    def defined(self) -> bool:
        """Whether both have a score."""
        return not np.isnan(self.a) and not np.isnan(self.b)

    @classmethod
    def mean(cls, members: Sequence["Paired"]) -> "Paired":
        """The mean over the languages in which both have a score."""
        if len(members) == 1:
            return members[0]
        defined = [member for member in members if member.defined]
        if not defined:
            return cls(np.nan, np.nan, np.empty(0))
        a, b = (float(np.mean([getattr(member, side) for member in defined])) for side in "ab")
        samples = mean_of_defined(np.stack([member.samples for member in defined], axis=-1))
        return cls(a, b, samples, max(member.items for member in defined))


def paired_differences(pairs: Sequence[Paired]) -> list[Difference]:
    """Each difference with its interval and p-value, and where there are several, those for all of them at once."""
    testable = [pair.defined and pair.items > 1 and not np.isnan(pair.samples).any() for pair in pairs]
    tested = [pair for pair, is_testable in zip(pairs, testable, strict=True) if is_testable]
    adjusted = iter(simultaneous([pair.b - pair.a for pair in tested], [pair.samples for pair in tested]))
    differences = []
    for pair, is_testable in zip(pairs, testable, strict=True):
        at_once = next(adjusted) if is_testable and len(tested) > 1 else (None, None, None)
        a, b = (None if np.isnan(value) else float(value) for value in (pair.a, pair.b))
        if a is None or b is None:
            differences.append(Difference(a, b, None, None, None, None))
        elif pair.items < 2:
            differences.append(Difference(a, b, b - a, None, None, None))
        else:
            differences.append(Difference(a, b, b - a, *interval(pair.samples), p_value(pair.samples), *at_once))
    return differences


def interval(samples: np.ndarray) -> tuple[float | None, float | None]:
    """The percentile interval of resampled scores, in which lie 95 % of them.

    Args:
        samples: A score a resample; NaN, where it was not defined, is left out.

    Returns:
        Lower and upper end; (None, None) where no resample has a score.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return None, None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def p_value(differences: np.ndarray) -> float | None:
    """Two-sided p-value of "there is no difference", from resampled differences.

    Twice the share of resamples on the rarer side of 0, those at 0 counted on both sides, and one resample added to
    each count so that the value is never 0: min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (1 + resamples)). It is below
    0.05 where the 95 % percentile interval leaves 0 out, up to the grain of the resamples.

    Args:
        differences: A difference a resample; NaN is left out.

    Returns:
        The p-value; None where no resample has a difference.
    """
    defined = differences[~np.isnan(differences)]
    if not len(defined):
        return None
    rarer = min(int((defined <= ROUNDING).sum()), int((defined >= -ROUNDING).sum()))
    return min(1.0, 2 * (1 + rarer) / (1 + len(defined)))


def simultaneous(observed: Sequence[float], samples: Sequence[np.ndarray]) -> list[tuple[float, float, float]]:
    """Intervals that hold all together in 95 %, and p-values for "none of them differs".

    Where twenty differences are tested, each at 5 %, one comes out although none is there. The largest of their
    standardised deviations, over the same resamples, is what all of them have to be held against (single-step max-T;
    Westfall and Young 1993, "Resampling-Based Multiple Testing"). Since the resamples are shared, what the differences
    have in common costs nothing, which it would with Bonferroni or Holm.

    With d_k the differences, d*_k the resampled ones and s_k their standard deviation, the largest deviation of a
    resample is t* = max_k |d*_k - d_k| / s_k, and q its 95 % quantile. The intervals are d_k ± q s_k, and p_k is the
    share of resamples with t* >= |d_k| / s_k, one resample added. It is below 0.05 where the interval leaves 0 out, up
    to the grain of the resamples.

    Args:
        observed: The differences.
        samples: Each one resampled, (resamples,), all on the same resamples and without NaN.

    Returns:
        Lower and upper end of the interval, and the p-value, for each. A difference that is the same in all resamples
        has an interval without width, and p 1 where it is 0.
    """
    if not samples:
        return []
    differences, drawn = np.array(observed, dtype=np.float64), np.stack(list(samples), axis=-1)
    spread = drawn.std(axis=0)
    varies = spread > ROUNDING * np.maximum(1.0, np.abs(differences))
    scale = np.where(varies, spread, 1.0)
    deviations = np.where(varies, np.abs(drawn - differences) / scale, 0.0).max(axis=1)
    margin = np.where(varies, np.quantile(deviations, LEVEL) * scale, 0.0)
    bands = []
    for k, difference in enumerate(differences):
        size = abs(difference) / scale[k] if varies[k] else (np.inf if abs(difference) > ROUNDING else 0.0)
        p = (1 + int((deviations >= size * (1 - ROUNDING)).sum())) / (1 + len(deviations))
        bands.append((float(difference - margin[k]), float(difference + margin[k]), p))
    return bands


def few_items(sizes: Iterable[tuple[str, int]]) -> list[str]:
    """What to say of languages, given with how many items they have, whose intervals are not to be trusted."""
    few = [f"{language} ({items})" for language, items in sizes if 1 < items < FEW]
    warning = f"Fewer than {FEW} items in {', '.join(few)}: intervals are too narrow there, and p-values too small."
    return [warning] if few else []


def mean_of_defined(values: np.ndarray) -> np.ndarray:
    """The mean over the last axis of what is not NaN; NaN where nothing is."""
    defined = ~np.isnan(values)
    total, number = np.where(defined, values, 0.0).sum(-1), defined.sum(-1)
    return np.divide(total, number, out=np.full(np.shape(total), np.nan), where=number != 0)
