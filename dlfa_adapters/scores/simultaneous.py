"""Intervals and p-values that hold for several differences at once.

Where twenty differences are tested, each at 5 %, one comes out although none is there. The largest of their
standardised deviations, over the same resamples, is what all of them have to be held against (single-step max-T;
Westfall and Young 1993, "Resampling-Based Multiple Testing"). Since the resamples are shared, what the differences have
in common costs nothing, which it would with Bonferroni or Holm.
"""

from collections.abc import Sequence

import numpy as np

from dlfa_adapters.scores.intervals import LEVEL

Simultaneous = tuple[float, float, float]
"""Lower and upper end of the interval, and the adjusted p-value."""


def simultaneous(observed: Sequence[float], samples: Sequence[np.ndarray]) -> list[Simultaneous]:
    """Intervals that hold all together in 95 %, and p-values for "none of them differs".

    With d_k the differences, d*_k the resampled ones and s_k their standard deviation, the largest deviation of a
    resample is t* = max_k |d*_k - d_k| / s_k, and q its 95 % quantile. The intervals are d_k ± q s_k, and p_k is the
    share of resamples with t* >= |d_k| / s_k, one resample added. It is below 0.05 where the interval leaves 0 out, up
    to the grain of the resamples.

    Args:
        observed: The differences.
        samples: Each one resampled, (resamples,), all on the same resamples and without NaN.

    Returns:
        An interval and a p-value for each. A difference that is the same in all resamples has an interval without
        width, and p 1 where it is 0.
    """
    differences, drawn = np.array(observed, dtype=np.float64), np.stack(list(samples), axis=-1)
    spread = drawn.std(axis=0)
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(differences))
    scale = np.where(varies, spread, 1.0)
    deviations = np.where(varies, np.abs(drawn - differences) / scale, 0.0).max(axis=1)
    margin = np.where(varies, np.quantile(deviations, LEVEL) * scale, 0.0)
    found = []
    for k, difference in enumerate(differences):
        size = abs(difference) / scale[k] if varies[k] else (np.inf if abs(difference) > 1e-12 else 0.0)
        p = (1 + int((deviations >= size).sum())) / (1 + len(deviations))
        found.append((float(difference - margin[k]), float(difference + margin[k]), p))
    return found
