"""The learning rate of a head is chosen on source dev, for each head by itself."""

import dataclasses

import pytest
import torch

from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.learning.features import all_rates
from dlfa_adapters.learning.frozen import HeadSpec, Linear, Rate, TrainedHead, learn_on_states, train_heads
from dlfa_adapters.learning.frozen.head import Epoch
from dlfa_adapters.learning.frozen.learn import edge
from dlfa_adapters.tasks import NER

SPECS = [HeadSpec.of(name="last", fusion="last"), HeadSpec.of(name="D_2", fuse_layer=(2,), gate="attention")]
RATES = all_rates([1e-1, 1e-2, 3e-2])
OPTIONS = {"epochs": 6, "batch_size": 3, "seed": 2}
TASK = dataclasses.replace(NER, metric="accuracy")


def try_rates(specs, train, dev, rates, *, seed=2, watch=None, **schedule):
    """The heads, each tried at all rates."""
    return learn_on_states(
        specs, train, dev, TASK, Linear(**schedule), rates=[rates] * len(specs), seed=seed, watch=watch
    )


def test_each_head_has_the_rate_that_is_best_on_dev_and_is_the_head_that_it_would_be_at_that_rate(tagged):
    trials = try_rates(SPECS, tagged, tagged, RATES, **OPTIONS)
    assert [trial.head.spec for trial in trials] == SPECS
    for spec, trial in zip(SPECS, trials, strict=True):
        alone = {
            rate: train_heads([spec], tagged, tagged, NER.labels, accuracy, rates=[rate], **OPTIONS)[0]
            for rate in RATES
        }
        assert trial.rates == sorted(RATES)
        assert trial.dev == pytest.approx([alone[rate].dev_score for rate in trial.rates])
        assert trial.rate == max(RATES, key=lambda rate: alone[rate].quality)
        torch.testing.assert_close(
            trial.head.state_dict["classifier.weight"], alone[trial.rate].state_dict["classifier.weight"],
            rtol=0, atol=1e-4,
        )  # fmt: skip


def test_watched_data_do_not_choose_it(tagged):
    """On sentences without a name the lowest rate is best, at which the fewest names are learnt."""
    nameless = dataclasses.replace(tagged, tags=[["O"] * len(tags) for tags in tagged.tags])
    options = {**OPTIONS, "watch": {"de": nameless}}
    trials = try_rates(SPECS, tagged, tagged, RATES, **options)
    for spec, trial in zip(SPECS, trials, strict=True):
        heads = [
            train_heads([spec], tagged, tagged, NER.labels, accuracy, rates=[rate], **options)[0] for rate in RATES
        ]
        by_target = max(heads, key=lambda head: head.watched["de"][head.epoch - 1])
        assert (by_target.rate.learning_rate, trial.rate.learning_rate) == (1e-2, 1e-1)


def test_a_rate_is_judged_by_its_best_epoch(monkeypatch):
    """Whatever came after it, and also where an earlier epoch is kept that is only nearly as good."""
    from dlfa_adapters.learning.frozen import learn

    def train(specs, *data, rates, **options):
        scores = {1e-3: [58.0, 59.0], 1e-2: [52.0, 60.0], 1e-1: [59.5, 10.0]}
        heads = []
        for spec, rate in zip(specs, rates, strict=True):
            heads.append(TrainedHead(spec, rate))
            for number, score in enumerate(scores[rate.learning_rate], 1):
                heads[-1].after_epoch(number, score, 9.0, lambda n=number, s=score: Epoch(n, s, {}))
        return heads

    monkeypatch.setattr(learn, "train_heads", train)
    [trial] = try_rates(SPECS[:1], None, None, all_rates([1e-1, 1e-2, 1e-3]), epochs=2)
    assert trial.dev == [59.0, 60.0, 59.5]
    assert (trial.rate.learning_rate, trial.edge, trial.head.epoch, trial.head.dev_score) == (1e-2, None, 1, 52.0)


def test_among_rates_of_equal_score_the_lower_loss_chooses(tagged):
    """Sentences without names and words: all rates get all of it right, with more or less reason."""
    easy = dataclasses.replace(tagged, tags=[["O"] * len(tags) for tags in tagged.tags])
    options = {**OPTIONS, "epochs": 20}
    [trial] = try_rates(SPECS[:1], easy, easy, all_rates([3e-2, 1e-1, 6e-2]), **options)
    assert trial.dev == [100.0] * 3
    assert (trial.rate.learning_rate, trial.edge) == (1e-1, "highest")
    losses = trial.head.dev_losses
    assert trial.head.epoch == losses.index(min(losses)) + 1 > trial.head.dev_scores.index(100.0) + 1


def test_weight_decays_are_tried_too(tagged):
    [trial] = try_rates(SPECS[:1], tagged, tagged, [Rate(1e-2, 0.5), Rate(1e-2, 0.0)], **OPTIONS)
    assert trial.rates == [Rate(1e-2, 0.0), Rate(1e-2, 0.5)]
    assert trial.edge is None


@pytest.mark.parametrize(
    ("chosen", "tried", "expected"),
    [(1, [1, 2, 3], "lowest"), (2, [3, 2, 1], None), (3, [1, 2, 3], "highest"), (1, [1], None), (1, [1, 1], None)],
)
def test_the_edge_of_what_was_tried(chosen, tried, expected):
    assert edge(chosen, tried) == expected


def test_heads_can_be_tried_at_rates_of_their_own(tagged):
    """And what each has learnt is called out after every epoch."""
    seen, rates = [], [[Rate(3e-2), Rate(1e-2)], [Rate(1e-1)]]
    schedule = Linear(epochs=3, batch_size=3)
    options = {"rates": rates, "on_epoch": lambda epoch, heads: seen.append((epoch, [h.rate for h in heads]))}
    first, second = learn_on_states(SPECS, tagged, tagged, TASK, schedule, **options)
    assert (first.rates, second.rates) == ([Rate(1e-2), Rate(3e-2)], [Rate(1e-1)])
    assert seen == [(epoch, [Rate(1e-2), Rate(3e-2), Rate(1e-1)]) for epoch in (1, 2, 3)]


def test_without_dev_data_the_last_epoch_is_kept(tagged):
    [trial] = learn_on_states(SPECS[:1], tagged, None, TASK, Linear(3, batch_size=3), rates=[[Rate(1e-2)]])
    assert (trial.head.epoch, trial.dev, trial.edge) == (3, [], None)
