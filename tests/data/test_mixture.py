"""Rows of several sources are drawn in the shares that are asked for, every row of a source before one comes again."""

from collections import Counter
from itertools import pairwise

import pytest
from scipy.stats import chi2, chisquare

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.data.mixture import Mixture, shares_by_temperature, shares_by_weight

SIZES = {"en": 1000, "de": 300, "sw": 7}


def mixture(shares, sizes=SIZES, epoch_rows=1000, seed=0):
    """The rows of the sources stand one behind the other."""
    rows, first = {}, 0
    for name, size in sizes.items():
        rows[name] = range(first, first + size)
        first += size
    return Mixture(rows, shares, epoch_rows, seed)


def of_source(drawn, mixed):
    source = {row: name for name, rows in mixed.rows.items() for row in rows}
    return [source[row] for row in drawn]


@pytest.mark.parametrize(
    ("shares", "by_hand"),
    [
        (shares_by_weight({"en": 3, "de": 1, "sw": 1}), [0.6, 0.2, 0.2]),
        (shares_by_weight({"en": 1.5e308, "de": 1.0, "sw": 0.5e308}), [0.75, 0.0, 0.25]),
        (shares_by_temperature(SIZES), [1000 / 1307, 300 / 1307, 7 / 1307]),
        (shares_by_temperature({"en": 10000, "de": 100}, 2.0), [100 / 110, 10 / 110]),  # square roots
        (shares_by_temperature(SIZES, 1e9), [1 / 3] * 3),
        (shares_by_temperature({"en": 10000, "de": 100}, 1e-3), [1.0, 0.0]),
    ],
)
def test_shares(shares, by_hand):
    assert list(shares.values()) == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("shares", [{"en": 0.6, "de": 0.3, "sw": 0.1}, shares_by_temperature(SIZES, 5.0)])
def test_sources_are_drawn_as_often_as_asked(shares):
    """Twenty epochs, chi-square; and were the shares others by a tenth, it would show."""
    mixed = mixture(shares)
    seen = Counter(name for epoch in range(20) for name in of_source(mixed.epoch(epoch), mixed))
    counts = [seen[name] for name in SIZES]
    assert sum(counts) == 20_000
    assert chisquare(counts, [20_000 * share for share in shares.values()]).pvalue > 0.01
    others = shares_by_weight({**shares, "en": 1.1 * shares["en"]})
    assert chisquare(counts, [20_000 * share for share in others.values()]).pvalue < 1e-3


def test_draws_are_independent_of_each_other():
    """The source of a row says nothing of the next one's: no blocks, no turns."""
    mixed = mixture({"en": 0.5, "de": 0.25, "sw": 0.25})
    drawn = of_source(mixed.epoch(0), mixed)
    pairs = Counter(pairwise(drawn))
    shares = dict(mixed.shares)
    expected = {(a, b): 999 * shares[a] * shares[b] for a in shares for b in shares}
    statistic = sum((pairs[pair] - count) ** 2 / count for pair, count in expected.items())
    assert statistic < chi2.ppf(0.999, 8)


def test_every_row_of_a_source_comes_before_one_comes_again():
    mixed = mixture({"en": 0.5, "de": 0.4, "sw": 0.1}, epoch_rows=333)
    drawn = [row for epoch in range(12) for row in mixed.epoch(epoch)]
    for name, rows in mixed.rows.items():
        mine = [row for row in drawn if row in rows]
        assert len(mine) > len(rows) or name == "en"
        for start in range(0, len(mine), len(rows)):
            part = mine[start : start + len(rows)]
            assert len(set(part)) == len(part)
    swahili = [row for row in drawn if row in mixed.rows["sw"]]
    assert swahili[:7] != swahili[7:14]  # in another order the next time


def test_an_epoch_is_the_same_whatever_was_asked_before():
    shares = {"en": 0.5, "de": 0.4, "sw": 0.1}
    one = [mixture(shares).epoch(3), mixture(shares).epoch(0)]
    mixed = mixture(shares)
    assert [mixed.epoch(0), mixed.epoch(3)] == one[::-1]
    assert mixed.epoch(0) != mixed.epoch(1)
    assert mixture(shares, seed=1).epoch(0) != one[1]


@pytest.mark.parametrize("one_stream", [False, True])
def test_the_batches_are_those_of_the_mixture(one_stream):
    mixed = mixture({"en": 0.5, "de": 0.4, "sw": 0.1}, epoch_rows=70)
    lengths = [1 + i % 11 for i in range(sum(SIZES.values()))]
    sampler = SameLengthSampler(lengths, 8, 0, one_stream=one_stream, mixture=mixed)
    assert len(sampler) == 70
    for epoch in (0, 1):
        sampler.set_epoch(epoch)
        batches = sampler.batches()
        assert sorted(row for batch in batches for row in batch) == sorted(mixed.epoch(epoch))
        assert sorted(map(len, batches)) == [6, *[8] * 8]
