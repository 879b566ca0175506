"""Bootstrap intervals against values that are known without a bootstrap."""

import numpy as np
import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.intervals import FEW, few_items, interval, p_value
from dlfa_adapters.scores.resample import draw_again, generator, resampled_sums


def accuracy_samples(right, items, resamples=1000, seed=0):
    counts = np.array([[1, 1]] * right + [[0, 1]] * (items - right))
    sums = resampled_sums(counts, resamples, generator(seed, "de"))
    return sums[:, 0] / sums[:, 1]


def test_each_resample_draws_as_many_items_as_there_are():
    counts = np.stack([np.ones(700, int), np.arange(700)], axis=1)
    sums = resampled_sums(counts, 2000, generator(0, "de"))  # 2,000 x 700 draws are more than one step
    assert sums.shape == (2000, 2)
    assert (sums[:, 0] == 700).all()
    # the mean of resampled means: 349.5, with standard error 202.07 / sqrt(700 * 2000) = 0.17
    assert abs((sums[:, 1] / 700).mean() - 349.5) < 0.7


def test_columns_are_drawn_together():
    column = np.random.default_rng(0).integers(0, 9, 50)
    sums = resampled_sums(np.stack([column, 3 * column], axis=1), 100, generator(0, "de"))
    assert (sums[:, 1] == 3 * sums[:, 0]).all()
    assert len(set(sums[:, 0])) > 10


@pytest.mark.parametrize(("right", "items", "ends"), [(5, 5, (1.0, 1.0)), (0, 5, (0.0, 0.0)), (1, 2, (0.0, 1.0))])
def test_intervals_that_are_certain(right, items, ends):
    # One of two right: the resamples are 0, 1/2, 1 with probability 1/4, 1/2, 1/4.
    assert interval(accuracy_samples(right, items)) == ends


def test_the_interval_is_that_of_the_binomial():
    # 2.5 % and 97.5 % quantiles of Binomial(100, 0.5) are 40 and 60.
    low, high = interval(accuracy_samples(50, 100, resamples=20_000))
    assert low == pytest.approx(0.40, abs=0.011)
    assert high == pytest.approx(0.60, abs=0.011)


def test_coverage():
    """95 % intervals of an accuracy of 0.7 on 80 items hold 0.7 in about 95 % of 400 drawn data sets."""
    random = np.random.default_rng(1)
    inside = 0
    for right in random.binomial(80, 0.7, size=400):
        low, high = interval(accuracy_samples(right, 80, resamples=400, seed=int(random.integers(1_000_000))))
        inside += low <= 0.7 <= high
    assert 0.92 <= inside / 400 <= 0.98


def test_undefined_resamples_are_left_out():
    assert interval(np.array([np.nan, 0.5, np.nan, 0.5])) == (0.5, 0.5)
    assert interval(np.array([np.nan, np.nan])) == (None, None)
    assert interval(np.empty(0)) == (None, None)


def test_undefined_resamples_are_drawn_again():
    samples = np.array([[np.nan], [0.2], [np.nan], [0.8]] * 50)
    again = draw_again(samples, generator(0, "de"))[:, 0]
    assert set(again) == {0.2, 0.8}
    assert (again[1::4] == 0.2).all()
    assert (again[3::4] == 0.8).all()
    assert len(set(again[::2])) == 2
    assert np.isnan(samples[0])  # the given array is left alone
    assert np.isnan(draw_again(np.full((3, 1), np.nan), generator(0, "de"))).all()


def test_what_is_drawn_again_is_one_resample_for_all_models():
    """Where one of two models has no score, both are drawn again; a third one that never has a score costs nothing."""
    samples = np.array([[0.1, np.nan, np.nan], [0.2, 0.2, np.nan], [np.nan, np.nan, np.nan], [0.8, 0.8, np.nan]] * 50)
    again = draw_again(samples, generator(0, "de"))
    assert (again[:, 0] == again[:, 1]).all()
    assert set(again[:, 0]) == {0.2, 0.8}
    assert np.isnan(again[:, 2]).all()
    never = np.array([[0.1, np.nan], [np.nan, 0.2]])  # no resample in which both have one
    assert np.array_equal(draw_again(never, generator(0, "de")), never, equal_nan=True)


def test_languages_have_random_numbers_of_their_own():
    assert (generator(0, "de").integers(1000, size=9) == generator(0, "de").integers(1000, size=9)).all()
    assert (generator(0, "de").integers(1000, size=9) != generator(0, "sw").integers(1000, size=9)).any()
    assert (generator(0, "de").integers(1000, size=9) != generator(1, "de").integers(1000, size=9)).any()


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        (np.zeros(99), 1.0),  # the same model
        (np.ones(99), 2 * 1 / 100),  # never 0
        (-np.ones(99), 2 * 1 / 100),
        (np.array([-1.0] + [1.0] * 98), 2 * 2 / 100),
        (np.array([0.0, np.nan] + [1.0] * 98), 2 * 2 / 100),
        (np.array([np.nan]), None),
        (np.array([0.1 + 0.2 - 0.3, 0.3 - 0.2 - 0.1] + [1.0] * 97), 2 * 3 / 100),  # 0 but for rounding
    ],
)
def test_p_values(differences, expected):
    assert p_value(differences) == expected


def test_p_values_are_uniform_where_nothing_differs():
    """Two models of equal accuracy: p < 0.05 in about 5 % of 400 drawn data sets."""
    random = np.random.default_rng(2)
    rejected = 0
    for _ in range(400):
        both = random.random((100, 2)) < 0.7
        sums = resampled_sums(both.astype(int), 400, random)
        rejected += p_value((sums[:, 1] - sums[:, 0]) / 100) < 0.05
    assert 0.01 <= rejected / 400 <= 0.08


def test_no_items():
    assert resampled_sums(np.zeros((0, 2), int), 3, generator(0, "de")).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: resampled_sums(np.ones((2, 1), int), 0, generator(0, "de")), "at least one resample, got 0"),
        (lambda: generator(-1, "de"), "seed from 0 up, got -1"),
    ],
)
def test_bad_options(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


def test_few_items_are_named():
    assert few_items([("en", FEW), ("de", 1000), ("yo", 1)]) == []
    [said] = few_items([("en", 40), ("de", 2), ("sw", FEW - 1)])
    assert said == "Fewer than 30 items in de (2), sw (29): intervals are too narrow there, and p-values too small."
