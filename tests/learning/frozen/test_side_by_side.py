"""Heads trained side by side are the heads that each would be alone."""

import dataclasses

import pytest
import torch
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.fusion import FUSIONS, Fusion, register_fusion
from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.learning.frozen import HeadSpec, predict_heads, train_heads
from dlfa_adapters.learning.frozen.head import Rate
from dlfa_adapters.learning.frozen.module import FusionClassifier, new_head
from dlfa_adapters.learning.frozen.stacks import StackedHeads, make_stacks
from dlfa_adapters.tasks import NER
from dlfa_adapters.tasks.head_options import HeadOptions


class Sum(Fusion):
    """A fusion of a user's own."""

    def __init__(self, hidden_size, **options):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(hidden_size))

    def forward(self, *states, attention_mask=None):
        return self.scale * sum(states)


@pytest.fixture(scope="module", autouse=True)
def fusion_of_a_user():
    register_fusion("sum-of-a-user", Sum)
    yield
    del FUSIONS["sum-of-a-user"]


SPECS = [
    HeadSpec.of(name="last", fusion="last"),
    HeadSpec.of(name="D_1", fuse_layer=(1,), gate="attention"),
    HeadSpec.of(name="D_2", fuse_layer=(2,), gate="attention"),
    HeadSpec.of(name="D_2 again", fuse_layer=(2,), gate="attention", seed=7),
    HeadSpec.of(name="identity", fuse_layer=(2,), gate="attention", init="identity"),
    HeadSpec.of(name="D_3 printed", fuse_layer=(3,)),
    HeadSpec.of(name="wide", fuse_layer=(2,), gate="attention", reduction=1),
    HeadSpec.of(name="global", fuse_layer=(2,), gate="attention", branches="global"),
    HeadSpec.of(name="local", fuse_layer=(2,), branches="local"),
    HeadSpec.of(name="no norm", fuse_layer=(1,), gate="attention", norm="none"),
    HeadSpec.of(name="layer norm", fuse_layer=(1,), gate="attention", norm="layer"),
    HeadSpec.of(name="nested", fuse_layer=(2, 1), gate="attention"),
    HeadSpec.of(name="nested printed", fuse_layer=(2, 1), norm="layer"),
    HeadSpec.of(name="nested deep", fuse_layer=(2, 1, 0), gate="attention", branches="global"),
    HeadSpec.of(name="mix", fusion="scalar_mix"),
    HeadSpec.of(name="layer 2", fusion="layer", fuse_layer=(2,)),
    HeadSpec.of(name="layer 0", fusion="layer", fuse_layer=(0,)),
    HeadSpec.of(name="concat", fusion="concat", fuse_layer=(1,)),
    HeadSpec.of(name="concat of three", fusion="concat", fuse_layer=(2, 1)),
    HeadSpec(name="a user's", head=HeadOptions(fusion="sum-of-a-user", fuse_layer=(1,))),
]


RATES = [(Rate(5e-3), Rate(3e-3, 0.3), Rate(1e-2, 0.0))[i % 3] for i in range(len(SPECS))]


def padded(data, indices, spec):
    """What an ordinary module takes: the states of a spec, the mask, and positions in the flattened batch."""
    states, mask, positions = data.batch(indices).padded()
    return states[list(spec.head.states(3))], mask, positions


def trained_alone(spec, data, epochs, batch_size, seed, rate):
    """One head as an ordinary module in an ordinary loop; its weights after each epoch."""
    head = new_head(spec, 16, 3, 7)
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate.learning_rate, weight_decay=rate.weight_decay)
    steps = epochs * -(-len(data.windows) // batch_size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    sampler = SameLengthSampler(data.states.lengths(), batch_size, seed, one_stream=True)
    gold = data.label_ids({label: i for i, label in enumerate(NER.labels)})
    after = []
    for _ in range(epochs):
        for indices in sampler.batches():
            logits = head.train()(*padded(data, indices, spec))
            optimizer.zero_grad()
            cross_entropy(logits, gold[data.batch(indices).places]).backward()
            optimizer.step()
            schedule.step()
        after.append({name: value.clone() for name, value in head.state_dict().items()})
    return after


@pytest.fixture(scope="module")
def together(tagged):
    heads = train_heads(SPECS, tagged, tagged, NER.labels, accuracy, epochs=3, rates=RATES, batch_size=3, seed=5)
    return {head.spec.name: head for head in heads}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_equal_to_training_each_alone(spec, together, tagged):
    head, rate = together[spec.name], RATES[SPECS.index(spec)]
    assert head.rate == rate
    alone = trained_alone(spec, tagged, 3, 3, 5, rate)[head.epoch - 1]
    assert set(head.state_dict) == set(alone)
    for name, value in alone.items():
        # batch norm takes a bias before it away again: its gradient is rounding noise, which Adam blows up
        if not (
            spec.head.fusion_options.norm == "batch" and name.endswith(("conv1.bias", "conv2.bias", "running_mean"))
        ):
            torch.testing.assert_close(head.state_dict[name], value, rtol=0, atol=1e-4, msg=f"{spec.name} {name}")
    logits = []
    for state_dict in (head.state_dict, alone):
        module = FusionClassifier(spec, 16, 3, 7).eval()
        module.load_state_dict(state_dict)
        logits.append(module(*padded(tagged, range(len(tagged.windows)), spec)))
    torch.testing.assert_close(*logits, rtol=0, atol=1e-4)


def test_rates_that_lie_between_those_of_another_architecture(tagged):
    specs, rates = [SPECS[1], SPECS[2], SPECS[0]], [Rate(1e-3), Rate(3e-2), Rate(6e-3)]
    heads = train_heads(specs, tagged, None, NER.labels, accuracy, epochs=2, rates=rates, batch_size=3, seed=5)
    for head, spec, rate in zip(heads, specs, rates, strict=True):
        alone = trained_alone(spec, tagged, 2, 3, 5, rate)[-1]
        torch.testing.assert_close(head.state_dict["classifier.weight"], alone["classifier.weight"], rtol=0, atol=1e-4)


def test_a_batch_of_one_window_leaves_the_statistics_of_the_global_branch(tagged):
    """As the modules do: from one mean over tokens there is no variance."""
    spec = SPECS[1]
    stack, module = StackedHeads([spec], [0], [new_head(spec, 16, 3, 7)], 3, range(4)), new_head(spec, 16, 3, 7)
    logits = stack(tagged.batch([0]), training=True)
    expected = module.train()(*padded(tagged, [0], spec))
    torch.testing.assert_close(logits[0].T, expected, rtol=0, atol=1e-5)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(stack.state_dict(0)[name], value, rtol=0, atol=1e-5, msg=name)


def test_buffers_move_for_each_head_and_only_in_training(tagged):
    specs = SPECS[1:3]
    stack = StackedHeads(specs, [0, 1], [new_head(spec, 16, 3, 7) for spec in specs], 3, range(4))
    name = "fusion.aif.0.branches.1.norm1.running_mean"
    before = stack.weights.buffers[name].clone()
    stack(tagged.batch([0, 1]), training=False)
    assert torch.equal(stack.weights.buffers[name], before)
    stack(tagged.batch([0, 1]), training=True)
    moved = (stack.weights.buffers[name] - before).abs().sum(-1)
    assert (moved > 0).all()
    assert not torch.equal(*stack.weights.buffers[name])  # other layers, other statistics


def test_other_architectures_cannot_be_stacked():
    with pytest.raises(ValueError, match="one architecture"):
        StackedHeads(SPECS[:2], [0, 1], [new_head(spec, 16, 3, 7) for spec in SPECS[:2]], 3, range(4))


def test_large_stacks_are_divided_and_nothing_is_lost():
    heads = [(spec, new_head(spec, 16, 3, 7)) for spec in SPECS]
    whole, divided = make_stacks(heads, 3, range(4), 100), make_stacks(heads, 3, range(4), 2**22)
    assert max(len(stack.members) for stack in whole) == 4  # D_1, D_2, D_2 again, identity
    assert max(len(stack.members) for stack in divided) < 4
    for stacks in (whole, divided):
        assert sorted(member for stack in stacks for member in stack.members) == list(range(len(SPECS)))


def test_they_learn_and_the_epoch_is_the_best_on_dev(tagged):
    heads = train_heads(SPECS[:3], tagged, tagged, NER.labels, accuracy, epochs=30, learning_rate=1e-2, batch_size=3)
    for head in heads:
        assert len(head.dev_scores) == 30
        assert head.dev_score == max(head.dev_scores)
        assert head.dev_score == head.dev_scores[head.epoch - 1] > head.dev_scores[0]
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


@pytest.fixture(scope="module")
def nameless(tagged):
    """The sentences without a name: the better the heads get at the names, the worse they get here."""
    return dataclasses.replace(tagged, tags=[["O"] * len(tags) for tags in tagged.tags])


def test_watched_data_are_scored_and_choose_nothing(tagged, nameless):
    data = (SPECS[:2], tagged, tagged, NER.labels, accuracy)
    options = {"epochs": 20, "learning_rate": 3e-2, "batch_size": 3}
    plain = train_heads(*data, **options)
    watching = train_heads(*data, **options, watch={"nameless": nameless})
    for head in train_heads(*data, **options, watch={"same": tagged}):
        assert head.watched == {"same": head.dev_scores}
    for one, two in zip(plain, watching, strict=True):
        falling = two.watched["nameless"]
        assert falling[two.epoch - 1] < max(falling)  # they would have chosen another epoch
        assert (one.dev_scores, one.epoch) == (two.dev_scores, two.epoch)
        assert all(torch.equal(value, two.state_dict[name]) for name, value in one.state_dict.items())


def test_labels_that_the_task_lacks_are_not_learnt_from(tagged):
    odd = dataclasses.replace(tagged, tags=[["B-MISC"] * len(tags) for tags in tagged.tags])
    heads = train_heads(SPECS[:1], odd, tagged, NER.labels, accuracy, epochs=1)
    start = new_head(SPECS[0], 16, 3, 7).state_dict()
    for name, value in heads[0].state_dict.items():
        torch.testing.assert_close(value, start[name], rtol=0, atol=1e-4)  # weight decay alone


def test_losses_are_means_over_the_words_that_have_a_label(tagged):
    """Half of the words have none; as many as there are of them, they weigh nothing."""
    tags = [["B-MISC" if i % 2 else tag for i, tag in enumerate(tags)] for tags in tagged.tags]
    odd, rate = dataclasses.replace(tagged, tags=tags), Rate(1e-2)
    [head] = train_heads(SPECS[:1], odd, odd, NER.labels, accuracy, epochs=4, rates=[rate], batch_size=2, seed=5)
    alone = trained_alone(SPECS[0], odd, 4, 2, 5, rate)
    torch.testing.assert_close(head.state_dict, alone[head.epoch - 1], rtol=0, atol=1e-5)
    module = FusionClassifier(SPECS[0], 16, 3, 7)
    gold = odd.label_ids({label: i for i, label in enumerate(NER.labels)})
    order = odd.batch(range(len(odd.windows))).places
    for state_dict, loss in zip(alone, head.dev_losses, strict=True):
        module.load_state_dict(state_dict)
        logits = module(*padded(odd, range(len(odd.windows)), SPECS[0]))
        assert loss == pytest.approx(cross_entropy(logits, gold[order]).item(), abs=1e-5)


def test_a_head_that_diverges_is_named_and_its_epoch_does_not_win(tagged, monkeypatch, caplog):
    from dlfa_adapters.learning.frozen import side_by_side

    step = side_by_side._step

    def break_one(stacks, *rest):
        step(stacks, *rest)
        with torch.no_grad():
            stacks[1].parameters()[0][0].fill_(float("nan"))

    monkeypatch.setattr(side_by_side, "_step", break_one)
    heads = train_heads(SPECS[:4], tagged, tagged, NER.labels, accuracy, epochs=2, batch_size=3)
    assert [head.dev_scores for head in heads][1] == [0.0, 0.0]
    assert all(min(head.dev_scores) > 0 for head in heads if head.spec.name != "D_1")
    assert "Weights of D_1 (seed 0) are no finite numbers after epoch 1" in caplog.text
    assert "D_2" not in caplog.text
