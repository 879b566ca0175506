"""Which head of a sweep is the best: source dev decides, and nothing else."""

import numpy as np

from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Attempt, Pair, RateChoice, choose_rates
from dlfa_adapters.sweeps.trainings import SweepResult, SweepRow
from dlfa_adapters.tasks import NER


def row(name, seed, dev, target, loss=1.0):
    """A training of two epochs, of which the second is kept; the first is better on the target language."""
    return SweepRow(
        spec=HeadSpec.of(name=name, seed=seed), epoch=2, dev=[0.0, dev], languages={"de": [99.0, target]}, loss=loss,
        counts={"de": np.zeros((1, 3), int)},
    )  # fmt: skip


def best(*rows):
    return SweepResult(task=NER, tuning="features", num_layers=3, sources=["en"], rows=list(rows)).best()


def test_the_best_seed_of_the_variant_with_the_best_mean_on_dev():
    rows = [row("last", 0, 70, 90), row("last", 1, 50, 80), row("D_1", 0, 66, 20), row("D_1", 1, 64, 10)]
    assert best(*rows) is rows[2]  # 60 against 65, though `last` has the best row, and the best targets


def test_it_is_neither_the_first_nor_the_last_seed():
    rows = [row("last", seed, dev, target) for seed, dev, target in ((0, 61, 90), (1, 64, 10), (2, 62, 80))]
    assert best(*rows) is rows[1]


def test_among_equal_ones_the_lower_dev_loss():
    rows = [row("last", 0, 60, 90, 0.9), row("D_1", 0, 60, 10, 0.2), row("D_1", 1, 60, 5, 0.1)]
    assert best(*rows) is rows[2]


def test_the_rate_is_that_of_the_best_dev_score_and_among_equal_ones_that_of_the_lower_loss():
    attempts = [Attempt(Pair(1e-3), 50.0, 0.1), Attempt(Pair(1e-2), 60.0, 0.9), Attempt(Pair(1e-1), 60.0, 0.5)]
    choice = choose_rates(attempts)
    assert (choice.rates, choice.edges) == (Pair(1e-1), ["highest head rate"])
    assert choose_rates(attempts[:2]).rates == Pair(1e-2)
    assert RateChoice.from_dict(choice.to_dict()) == choice


def test_edges_of_two_rates():
    pairs = [Pair(head, encoder) for head in (1e-3, 1e-2, 1e-1) for encoder in (1e-5, 2e-5)]
    tried = tuple(Attempt(pair, 0.0, 1.0) for pair in pairs)
    assert RateChoice(Pair(1e-2, 1e-5), tried).edges == ["lowest encoder rate"]
    assert RateChoice(Pair(1e-1, 2e-5), tried).edges == ["highest head rate", "highest encoder rate"]
    assert RateChoice(Pair(1e-2)).edges == []
