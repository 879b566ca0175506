"""Scores of many columns on the same resamples: by hand, and against resampling in a loop."""

import numpy as np
import pytest

from dlfa_adapters.analysis.retrieval.scored import Column, mean_over, score_items
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.resample import generator

A, B = Column("m", "0", "cosine", "mrr"), Column("m", "1", "cosine", "mrr")
HITS = Column("m", "0", "csls", "p@1")
FOUND = {
    A: np.array([1.0, 0.5 + 0.25, 0.0]),  # the second word has two translations
    B: np.array([0.5, 2.0, 0.1]),
    HITS: np.array([1, 0, 1]),
}
WEIGHTS = {"mrr": np.array([1, 2, 1]), "p@1": np.ones(3)}


def test_a_score_is_what_was_found_of_what_there_was():
    scored = score_items("en-de", FOUND, WEIGHTS, resamples=50)
    assert [scored.value(column) for column in FOUND] == pytest.approx([1.75 / 4, 2.6 / 4, 2 / 3])
    assert (scored.items, scored.systems(), scored.states("m"), scored.orders("m")) == (
        3,
        ["m"],
        ["0", "1"],
        ["cosine", "csls"],
    )
    assert scored.best("m", "cosine", "mrr") == "1"


def test_intervals_are_those_of_resampled_items():
    scored = score_items("en-de", FOUND, WEIGHTS, resamples=300, seed=5)
    random = generator(5, "en-de")
    drawn = [random.integers(3, size=3) for _ in range(300)]
    ratios = [FOUND[A][items].sum() / WEIGHTS["mrr"][items].sum() for items in drawn]
    found = scored.estimate(A)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])))
    others = [FOUND[B][items].sum() / WEIGHTS["mrr"][items].sum() for items in drawn]
    [difference] = scored.differences([(A, B)])
    assert difference.difference == pytest.approx((2.6 - 1.75) / 4)
    ends = tuple(np.quantile(np.array(others) - ratios, [0.025, 0.975]))
    assert (difference.low, difference.high) == pytest.approx(ends)


def test_each_pair_of_languages_counts_alike_in_the_mean():
    long = {column: np.tile(values, 10) for column, values in FOUND.items()}
    long[HITS] = np.zeros(30)
    scored = [
        score_items("en-de", FOUND, WEIGHTS, resamples=20),
        score_items("en-sw", long, {name: np.tile(each, 10) for name, each in WEIGHTS.items()}, resamples=20),
    ]
    mean = mean_over(scored)
    assert (mean.name, mean.items, mean.value(HITS)) == ("mean", 33, pytest.approx(1 / 3))
    samples = [each.scored.samples for each in scored]
    assert np.allclose(mean.scored.samples, (samples[0] + samples[1]) / 2)
    assert not np.array_equal(*samples)
    with pytest.raises(ConfigError, match="the same systems"):
        mean_over([scored[0], score_items("en-fi", {A: FOUND[A]}, WEIGHTS, resamples=20)])


def test_json_has_a_row_a_state_and_order():
    told = score_items("en-de", FOUND, WEIGHTS, resamples=20).to_dict()
    assert (told["name"], told["items"]) == ("en-de", 3)
    assert [(row["system"], row["state"], row["order"], sorted(row)[0]) for row in told["scores"]] == [
        ("m", "0", "cosine", "mrr"),
        ("m", "1", "cosine", "mrr"),
        ("m", "0", "csls", "order"),
    ]
    assert told["scores"][2]["p@1"]["value"] == pytest.approx(2 / 3)
    assert set(told["scores"][0]["mrr"]) == {"value", "low", "high"}
