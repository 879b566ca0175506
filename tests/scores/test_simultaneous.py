"""Intervals that hold all at once, against quantiles that are known without a bootstrap."""

import numpy as np
import pytest
from scipy.stats import norm

from dlfa_adapters.scores.intervals import Paired, paired_differences, simultaneous


def test_unrelated_differences_cost_as_sidak_says():
    """The largest of 10 independent |t| is below q in 95 % where one is in 0.95 ** (1 / 10): q = 2.80, not 1.96."""
    drawn = np.random.default_rng(0).normal(size=(20_000, 10)) * np.arange(1, 11)
    q = norm.ppf((1 + 0.95 ** (1 / 10)) / 2)
    found = simultaneous([0.0] * 10, list(drawn.T))
    for k, (low, high, p) in enumerate(found):
        assert (-low, high) == pytest.approx((q * (k + 1), q * (k + 1)), rel=0.03)
        assert p == 1
    assert q > 2.79


def test_p_values_are_those_of_the_largest():
    drawn = np.random.default_rng(1).normal(size=(20_000, 5))
    found = simultaneous([0.5, 1.0, 2.0, 3.0, -3.0], list((drawn + [0.5, 1.0, 2.0, 3.0, -3.0]).T))
    expected = [1 - (2 * norm.cdf(abs(t)) - 1) ** 5 for t in (0.5, 1.0, 2.0, 3.0, 3.0)]
    assert [p for _, _, p in found] == pytest.approx(expected, rel=0.1, abs=0.002)


def test_equal_differences_cost_nothing():
    drawn = np.random.default_rng(2).normal(size=20_000)
    for low, high, _ in simultaneous([0.0] * 8, [drawn] * 8):
        assert (-low, high) == pytest.approx((1.96, 1.96), rel=0.03)


def test_the_interval_leaves_0_out_where_p_is_small():
    random = np.random.default_rng(3)
    for _ in range(50):
        observed = random.normal(scale=2, size=4)
        for low, high, p in simultaneous(list(observed), list((random.normal(size=(999, 4)) + observed).T)):
            assert (low > 0 or high < 0) == (p < 0.05) or abs(p - 0.05) < 0.003


def test_a_resample_that_deviates_as_much_as_what_was_observed_counts():
    flips = np.array([2.0, 0.0] * 8)  # around 1: the standard deviation is 1, and so is each deviation
    assert simultaneous([1.0], [flips]) == [(0.0, 2.0, 1.0)]
    [(_, _, p)] = simultaneous([0.1 + 0.2], [0.3 * flips])  # the same but for rounding
    assert p == 1.0


def test_one_item_is_not_tested_and_costs_the_others_nothing():
    pairs = [Paired(0.0, 1.0, np.random.default_rng(i).normal(1, 0.4, 99), n) for i, n in enumerate((1, 50, 50))]
    one, alone = paired_differences(pairs[:2])
    assert (one.difference, one.low, one.adjusted_p, alone.adjusted_p) == (1.0, None, None, None)
    one, *two = paired_differences(pairs)
    assert (one.adjusted_p, two) == (None, paired_differences(pairs[1:]))
    assert two[0].adjusted_p >= two[0].p_value / 2 > 0


def test_what_never_varies():
    varies = np.random.default_rng(4).normal(size=99)
    same, other, _ = simultaneous([0.0, 2.0, 0.0], [np.zeros(99), np.full(99, 2.0), varies])
    assert same == (0.0, 0.0, 1.0)
    assert other == (2.0, 2.0, 1 / 100)
