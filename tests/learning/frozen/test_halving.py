"""Heads side by side whose rates are halved where dev stands still: each as in an ordinary loop of its own."""

import dataclasses

import pytest
import torch
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.frozen import Halving, HeadSpec, Linear, Rate, learn_on_states
from dlfa_adapters.learning.frozen.module import new_head
from dlfa_adapters.tasks import NER

TASK = dataclasses.replace(NER, metric="accuracy")
SPECS = [HeadSpec.of(name=f"layer {k}", fusion="layer", fuse_layer=(k,)) for k in range(3)]
RATES = [Rate(1.0, 0.0), Rate(3e-5, 0.0), Rate(2e-4, 0.0)]
"""One that overshoots and is halved often, one that is halved out after a few epochs if at all, one in between."""


@pytest.fixture(scope="module")
def dev(tagged):
    """Other tags, so that the loss on dev soon rises."""
    return dataclasses.replace(
        tagged, tags=[["B-LOC", "O", "O"][: len(tags)] + ["B-LOC"] * (len(tags) - 3) for tags in tagged.tags]
    )


@pytest.fixture(scope="module")
def unlike(tagged):
    """A tag that is never learnt, so that the loss on dev rises from the second evaluation on."""
    return dataclasses.replace(tagged, tags=[["I-LOC"] * len(tags) for tags in tagged.tags])


def alone(spec, rate, train, dev, epochs, seed, lowest=1e-5):
    """One head by PyTorch's Adam: the rate of each epoch, the losses on dev, and the weights after each epoch."""
    head = new_head(spec, 16, 3, 7)
    optimizer = torch.optim.Adam(head.parameters(), lr=rate.learning_rate)
    sampler = SameLengthSampler(train.states.lengths(), 3, seed, one_stream=True)
    label2id = {label: i for i, label in enumerate(NER.labels)}
    gold, on_dev = train.label_ids(label2id), dev.label_ids(label2id)

    def loss_of(data, rows, right):
        states, mask, positions = data.batch(rows).padded()
        return cross_entropy(head(states[list(spec.head.states(3))], mask, positions), right[data.batch(rows).places])

    now, rates, losses, weights = rate.learning_rate, [], [], []
    for _ in range(epochs):
        for rows in sampler.batches():
            optimizer.param_groups[0]["lr"] = now
            optimizer.zero_grad()
            loss_of(train, rows, gold).backward()
            optimizer.step()
        rates.append(now)
        with torch.no_grad():
            losses.append(loss_of(dev, range(len(dev.windows)), on_dev).item())
        weights.append({name: value.clone() for name, value in head.state_dict().items()})
        if losses[-1] >= min([*losses[:-1], float("inf")]):
            now /= 2
        if now < lowest:
            break
    return rates, losses, weights


def learn(tagged, dev, specs, rates, **schedule):
    schedule = Halving(**{"epochs": 60, "batch_size": 3, **schedule})
    return learn_on_states(specs, tagged, dev, TASK, schedule, rates=[[rate] for rate in rates], seed=5)


def test_each_head_is_what_it_would_be_alone(tagged, dev):
    trials = learn(tagged, dev, SPECS, RATES)
    ended = []
    for spec, rate, trial in zip(SPECS, RATES, trials, strict=True):
        rates, losses, weights = alone(spec, rate, tagged, dev, 60, 5)
        assert trial.head.dev_losses == pytest.approx(losses, rel=1e-3)
        assert trial.head.halved_rate == rates[-1] / (2 if len(losses) > 1 and losses[-1] >= min(losses[:-1]) else 1)
        for name, value in weights[trial.head.epoch - 1].items():
            torch.testing.assert_close(trial.head.state_dict[name], value, rtol=1e-3, atol=1e-4)
        ended.append(len(losses))
    assert len(set(ended)) > 1  # they stand still and end at different times
    assert min(ended) < 60
    assert trials[0].head.halved_rate < 1.0  # some were halved


def test_a_head_that_has_ended_changes_no_more(tagged, unlike):
    """It shares tensors with one that goes on."""
    quick, slow = Rate(1.5e-5, 0.0), Rate(1e-3, 0.0)
    both = learn(tagged, unlike, SPECS[:2], [quick, slow])
    single = learn(tagged, unlike, SPECS[:1], [quick])[0].head
    assert len(both[0].head.dev_losses) < len(both[1].head.dev_losses)
    assert both[0].head.is_halved_out
    assert both[0].head.halved_share == 0
    assert both[0].head.dev_scores == pytest.approx(single.dev_scores)
    torch.testing.assert_close(both[0].head.state_dict, single.state_dict, rtol=0, atol=1e-5)


def test_the_training_ends_when_no_head_learns(tagged, unlike):
    steps = []
    schedule, rates = Halving(epochs=100, batch_size=3), [[Rate(2e-5, 0.0)]] * 2
    learn_on_states(
        SPECS[:2], tagged, unlike, TASK, schedule, rates=rates, on_progress=lambda done, total: steps.append(total)
    )
    assert len(steps) < steps[0] == 100 * -(-len(tagged.windows) // 3)


def test_scored_after_every_few_epochs(tagged, dev):
    [trial] = learn(tagged, dev, SPECS[:1], RATES[2:], epochs=7, every=3)
    assert len(trial.head.dev_losses) == 3  # after 3, 6 and 7


def test_several_rates_and_dev_chooses(tagged):
    rates = [[Rate(1e-4, 0.0), Rate(3e-2, 0.0)], [Rate(1e-3, 0.0)]]
    trials = learn_on_states(SPECS[:2], tagged, tagged, TASK, Halving(epochs=5, batch_size=3), rates=rates)
    assert [trial.rate.learning_rate for trial in trials] == [3e-2, 1e-3]


def test_a_training_that_was_cut_short_goes_on(tagged, dev, tmp_path):
    """Its file says which heads are halved out, and is not taken for that of a linear schedule."""
    rates = [[RATES[1]], [RATES[0]]]
    how = {"rates": rates, "seed": 5}
    whole = learn_on_states(SPECS[:2], tagged, dev, TASK, Halving(epochs=20, batch_size=3), **how)

    def kill(epoch, heads):
        if epoch == 7:
            raise KeyboardInterrupt

    path = tmp_path / "epoch.safetensors"
    with pytest.raises(KeyboardInterrupt):
        learn_on_states(
            SPECS[:2], tagged, dev, TASK, Halving(epochs=20, batch_size=3), **how, checkpoint=path, on_epoch=kill
        )
    other = learn_on_states(SPECS[:2], tagged, dev, TASK, Linear(20, batch_size=3), **how)
    linear = learn_on_states(SPECS[:2], tagged, dev, TASK, Linear(20, batch_size=3), **how, checkpoint=path)
    assert [trial.head.dev_losses for trial in linear] == [trial.head.dev_losses for trial in other]
    with pytest.raises(KeyboardInterrupt):
        learn_on_states(
            SPECS[:2], tagged, dev, TASK, Halving(epochs=20, batch_size=3), **how, checkpoint=path, on_epoch=kill
        )
    epochs = []
    again = learn_on_states(
        SPECS[:2], tagged, dev, TASK, Halving(epochs=20, batch_size=3), **how, checkpoint=path,
        on_epoch=lambda epoch, heads: epochs.append(epoch),
    )  # fmt: skip
    assert epochs[0] == 8
    for one, two in zip(whole, again, strict=True):
        assert one.head.dev_losses == pytest.approx(two.head.dev_losses, rel=1e-5)
        torch.testing.assert_close(one.head.state_dict, two.head.state_dict)


def test_without_dev_data_nothing_can_be_halved(tagged):
    with pytest.raises(ConfigError, match="need dev data"):
        learn_on_states(SPECS[:1], tagged, None, TASK, Halving(3), rates=[[RATES[0]]])
