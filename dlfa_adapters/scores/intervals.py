"""Bootstrap intervals and p-values, by resampling the items of a language.

Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13 (percentile intervals); Koehn 2004,
"Statistical Significance Tests for Machine Translation Evaluation" (the paired form, on the same sentences).
"""

import zlib
from collections.abc import Iterable

import numpy as np

from dlfa_adapters.ground.errors import ConfigError

RESAMPLES = 1000
LEVEL = 0.95
FEW = 30
"""Fewer items than this hold too few of what can occur: the bootstrap then gives intervals that are too narrow."""
_DRAWS = 500_000  # items drawn in one step: a few MB


def few_items(sizes: Iterable[tuple[str, int]]) -> list[str]:
    """What to say of languages, given with how many items they have, whose intervals are not to be trusted."""
    few = [f"{language} ({items})" for language, items in sizes if 1 < items < FEW]
    said = f"Fewer than {FEW} items in {', '.join(few)}: intervals are too narrow there, and p-values too small."
    return [said] if few else []


def generator(seed: int, language: str) -> np.random.Generator:
    """The random numbers of a language: the same whatever other languages are looked at, and in whichever order.

    Raises:
        ConfigError: If the seed is negative.
    """
    if seed < 0:
        raise ConfigError(f"expected a seed from 0 up, got {seed}.")
    return np.random.default_rng([seed, zlib.crc32(language.encode())])


def resampled_sums(counts: np.ndarray, resamples: int, random: np.random.Generator) -> np.ndarray:
    """Sums of counts over items drawn with replacement, as many as there are.

    Args:
        counts: (items, counts). What shall be drawn together, such as two models' counts of the same item, stands in
            one row.
        resamples: How many times to draw.
        random: Random numbers.

    Returns:
        (resamples, counts).

    Raises:
        ConfigError: If `resamples` is smaller than one.
    """
    if resamples < 1:
        raise ConfigError(f"expected at least one resample, got {resamples}; type resamples={RESAMPLES}.")
    items, width = counts.shape
    sums = np.zeros((resamples, width))
    if not items:
        return sums
    step = max(1, _DRAWS // items)
    values = counts.astype(np.float64)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(items, size=(rows, items)) + items * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * items).reshape(rows, items)  # how often each item was drawn
        sums[start : start + rows] = times @ values
    return sums


def draw_again(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draws anew where a resample has no score, e.g. because no sentence in it has an entity.

    What is drawn is another resample of the same data that has one, so that a mean over languages is always over the
    same languages.

    Args:
        samples: A score a resample, NaN where it is not defined.
        random: Random numbers.

    Returns:
        The samples without NaN; NaN throughout if no resample has a score.
    """
    undefined = np.isnan(samples)
    if undefined.any() and not undefined.all():
        samples = samples.copy()
        samples[undefined] = random.choice(samples[~undefined], size=int(undefined.sum()))
    return samples


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
    rarer = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (1 + rarer) / (1 + len(defined)))
