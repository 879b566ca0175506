"""Heads trained side by side are the heads that each would be alone."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from dlfa_adapters.sweep import HeadSpec, predict_heads, train_heads
from dlfa_adapters.sweep.frozen import _shuffled_batches
from dlfa_adapters.sweep.scores import accuracy
from dlfa_adapters.sweep.stacked import FusionClassifier, StackedHeads, new_head
from dlfa_adapters.tasks import NER

SPECS = [
    HeadSpec(name="last", fusion="last"),
    HeadSpec(name="D_1", fuse_layer=(1,), gate="attention"),
    HeadSpec(name="D_2", fuse_layer=(2,), gate="attention"),
    HeadSpec(name="D_2 again", fuse_layer=(2,), gate="attention", seed=7),
    HeadSpec(name="D_3 printed", fuse_layer=(3,)),
    HeadSpec(name="nested", fuse_layer=(2, 1), gate="attention", norm="layer"),
    HeadSpec(name="mix", fusion="scalar_mix"),
    HeadSpec(name="layer 2", fusion="layer", fuse_layer=(2,)),
    HeadSpec(name="concat", fusion="concat", fuse_layer=(1,)),
]


def trained_alone(spec, data, epochs, batch_size, seed):
    """One head as an ordinary module in an ordinary loop; its weights after each epoch."""
    head = new_head(spec, 16, 3, 7)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-2, weight_decay=0.01)
    steps = epochs * -(-len(data.windows) // batch_size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    generator = torch.Generator().manual_seed(seed)
    label2id = {label: i for i, label in enumerate(NER.labels)}
    after = []
    for _ in range(epochs):
        for batch in _shuffled_batches(data.states.lengths(), batch_size, generator):
            states, mask = data.states.batch(batch, spec.states(3))
            logits = head.train()(states, mask, data.positions(batch, states.shape[2]))
            optimizer.zero_grad()
            cross_entropy(logits, data.labels(batch, label2id)).backward()
            optimizer.step()
            schedule.step()
        after.append({name: value.clone() for name, value in head.state_dict().items()})
    return after


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_equal_to_training_each_alone(spec, tagged):
    heads = train_heads(SPECS, tagged, tagged, NER.labels, accuracy, epochs=3, learning_rate=1e-2, batch_size=3, seed=5)
    together = heads[SPECS.index(spec)]
    alone = trained_alone(spec, tagged, 3, 3, 5)[together.epoch - 1]
    assert set(together.state_dict) == set(alone)
    for name, value in alone.items():
        # batch norm takes a bias before it away again: its gradient is rounding noise, which Adam blows up
        if not (spec.norm == "batch" and name.endswith(("conv1.bias", "conv2.bias"))):
            torch.testing.assert_close(together.state_dict[name], value, rtol=0, atol=1e-4, msg=f"{spec.name} {name}")
    states, mask = tagged.states.batch(range(len(tagged.windows)), spec.states(3))
    positions = tagged.positions(range(len(tagged.windows)), states.shape[2])
    logits = []
    for state_dict in (together.state_dict, alone):
        module = FusionClassifier(spec, 16, 3, 7).eval()
        module.load_state_dict(state_dict)
        logits.append(module(states, mask, positions))
    torch.testing.assert_close(*logits, rtol=0, atol=1e-4)


def test_buffers_move_for_each_head_and_only_in_training(tagged):
    specs = SPECS[1:3]
    stack = StackedHeads(specs, [new_head(spec, 16, 3, 7) for spec in specs], 3)
    name = "fusion.aif.0.branches.1.norm1.running_mean"
    states, mask = tagged.states.batch([0, 1], range(4))
    positions = tagged.positions([0, 1], states.shape[2])
    before = stack.buffers[name].clone()
    stack(states, mask, positions, training=False)
    assert torch.equal(stack.buffers[name], before)
    stack(states, mask, positions, training=True)
    moved = (stack.buffers[name] - before).abs().sum(-1)
    assert (moved > 0).all()
    assert not torch.equal(stack.buffers[name][0], stack.buffers[name][1])  # other layers, other statistics


def test_other_architectures_cannot_be_stacked():
    with pytest.raises(ValueError, match="one architecture"):
        StackedHeads(SPECS[:2], [new_head(spec, 16, 3, 7) for spec in SPECS[:2]], 3)


def test_they_learn_and_the_epoch_is_the_best_on_dev(tagged):
    heads = train_heads(SPECS[:3], tagged, tagged, NER.labels, accuracy, epochs=30, learning_rate=1e-2, batch_size=3)
    for head in heads:
        assert len(head.dev_scores) == 30
        assert head.dev_score == max(head.dev_scores)
        assert head.epoch == head.dev_scores.index(head.dev_score) + 1
        assert head.dev_score > head.dev_scores[0]
    predicted = predict_heads(heads, tagged, NER.labels)
    for head, tags in zip(heads, predicted, strict=True):
        right = [g == p for pair in zip(tagged.tags, tags, strict=True) for g, p in zip(*pair, strict=True)]
        assert 100 * sum(right) / len(right) == pytest.approx(head.dev_score)
        assert [len(t) for t in tags] == [len(w) for w in tagged.words]


def test_same_seed_same_weights_and_the_global_generator_is_left_alone(tagged):
    torch.manual_seed(3)
    first = train_heads(SPECS[:2], tagged, tagged, NER.labels, accuracy, epochs=1, seed=1)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), drawn)
    second = train_heads(SPECS[:2], tagged, tagged, NER.labels, accuracy, epochs=1, seed=1)
    for one, two in zip(first, second, strict=True):
        assert all(torch.equal(one.state_dict[name], two.state_dict[name]) for name in one.state_dict)


def test_watched_data_are_scored_and_choose_nothing(tagged):
    plain = train_heads(SPECS[:2], tagged, tagged, NER.labels, accuracy, epochs=2)
    watching = train_heads(SPECS[:2], tagged, tagged, NER.labels, accuracy, epochs=2, watch={"same": tagged})
    for one, two in zip(plain, watching, strict=True):
        assert two.watched == {"same": two.dev_scores}
        assert (one.dev_scores, one.epoch) == (two.dev_scores, two.epoch)


def test_labels_that_the_task_lacks_are_not_learnt_from(tagged):
    import dataclasses

    odd = dataclasses.replace(tagged, tags=[["B-MISC"] * len(tags) for tags in tagged.tags])
    heads = train_heads(SPECS[:1], odd, tagged, NER.labels, accuracy, epochs=1)
    start = new_head(SPECS[0], 16, 3, 7).state_dict()
    for name, value in heads[0].state_dict.items():
        torch.testing.assert_close(value, start[name], rtol=0, atol=1e-4)  # weight decay alone
