"""What holds for all states, whatever they are."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.fusion import DLFA, OneLayer, ScalarMix, make_fusion

from .batches import random_batch

few_examples = settings(deadline=None, max_examples=25, derandomize=True)
seeds = st.integers(0, 2**31)
lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)
scales = st.sampled_from([1e-3, 1.0, 30.0])


def make(seed, **options):
    torch.manual_seed(seed)
    return DLFA(8, **options).double()


@few_examples
@given(
    seed=seeds, lengths=lengths, scale=scales, training=st.booleans(), norm=st.sampled_from(["batch", "layer", "none"])
)
def test_the_attention_gate_lies_between_the_two_layers(seed, lengths, scale, training, norm):
    (lower, upper), mask = random_batch(seed, lengths=lengths)
    lower = scale * lower
    fused = make(seed, gate="attention", norm=norm).train(training)(lower, upper, attention_mask=mask)
    slack = 1e-12 * (1 + scale)
    assert (fused >= torch.minimum(lower, upper) - slack).all()
    assert (fused <= torch.maximum(lower, upper) + slack).all()


@few_examples
@given(seed=seeds, lengths=lengths, num_lower=st.integers(1, 3), gate=st.sampled_from(["product", "attention"]))
def test_a_state_fused_with_itself_stays(seed, lengths, num_lower, gate):
    """By (4), whatever the weight: so the control D_L is the last layer itself."""
    (state,), mask = random_batch(seed, num_states=1, lengths=lengths)
    fused = make(seed, gate=gate, num_lower=num_lower)(*[state] * (num_lower + 1), attention_mask=mask)
    torch.testing.assert_close(fused, state, rtol=0, atol=1e-12)


@few_examples
@given(seed=seeds, lengths=lengths, gate=st.sampled_from(["product", "attention"]))
def test_sentences_may_come_in_any_order(seed, lengths, gate):
    states, mask = random_batch(seed, lengths=lengths)
    order = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(seed))
    fused = make(seed, gate=gate)(*states, attention_mask=mask)
    shuffled = make(seed, gate=gate)(*(state[order] for state in states), attention_mask=mask[order])
    torch.testing.assert_close(shuffled, fused[order], rtol=0, atol=1e-9)


@few_examples
@given(weights=st.lists(st.floats(-20, 20), min_size=1, max_size=13), scale=st.floats(-4, 4))
def test_the_weights_of_a_scalar_mix_sum_to_its_scale(weights, scale):
    mix = ScalarMix(len(weights)).double()
    with torch.no_grad():
        mix.weights.copy_(torch.tensor(weights))
        mix.scale.fill_(scale)
    ones = torch.ones(1, 1, 2, dtype=torch.float64)
    torch.testing.assert_close(mix(*[ones] * len(weights)), scale * ones, rtol=1e-12, atol=1e-12)


@few_examples
@given(seed=seeds, layer=st.integers(0, 3))
def test_a_scalar_mix_with_one_weight_far_above_the_others_is_that_layer(seed, layer):
    states, _ = random_batch(seed, num_states=4)
    mix = ScalarMix(4).double()
    with torch.no_grad():
        mix.weights[layer] = 60
    torch.testing.assert_close(mix(*states), states[layer], rtol=0, atol=1e-12)


def test_a_scalar_mix_starts_as_the_mean():
    states, _ = random_batch(1, num_states=4)
    torch.testing.assert_close(ScalarMix(4).double()(*states), torch.stack(states).mean(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fusion", ["layer", "last"])
def test_one_layer_is_that_layer(fusion):
    (state,), mask = random_batch(1, num_states=1)
    one = make_fusion(fusion, 8, num_layers=12)
    assert isinstance(one, OneLayer)
    assert one(state, attention_mask=mask) is state


@few_examples
@given(seed=seeds, lengths=lengths, branches=st.sampled_from(["both", "global", "local"]))
def test_the_identity_start_has_a_bound(seed, lengths, branches):
    """How near the upper layer `init="identity"` starts.

    Batch norm takes no score of n items further than sqrt(n - 1) from its shift, and the shifts of the two branches
    sum to logit(0.01). So the weight of the lower layer is at most sigmoid(logit(0.01) + s), s the sum of the two
    square roots. With fewer than two items batch norm does not bound them.
    """
    if len(lengths) < 2:
        lengths = (*lengths, 3)
    (lower, upper), mask = random_batch(seed, lengths=lengths)
    fused = make(seed, branches=branches, gate="attention", init="identity")(lower, upper, attention_mask=mask)
    items = {"global": len(lengths), "local": sum(lengths)}
    spread = {"both": [*items.values()], "global": [items["global"]] * 2, "local": [items["local"]] * 2}[branches]
    bound = 1 / (1 + math.exp(math.log(99) - sum(math.sqrt(n - 1) for n in spread)))
    moved = (fused - upper).abs()[mask.bool()]
    assert (moved <= bound * (lower - upper).abs()[mask.bool()] + 1e-12).all()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("branches", ["both", "global", "local"])
def test_the_identity_start_is_near_the_upper_layer(branches, norm):
    """Scores spread by 1 in each branch, so sigmoid is 0.01 in the middle and a few hundredths in the mean."""
    (lower, upper), mask = random_batch(1, lengths=(20,) * 16, width=64)
    torch.manual_seed(0)
    options = {"branches": branches, "norm": norm, "gate": "attention"}
    start = DLFA(64, init="identity", **options).double()
    weight = ((start(lower, upper, attention_mask=mask) - upper) / (lower - upper)).flatten()
    assert 0.005 < weight.median() < 0.02
    assert 0.01 < weight.mean() < 0.05
    weight = ((DLFA(64, **options).double()(lower, upper, attention_mask=mask) - upper) / (lower - upper)).flatten()
    assert 0.4 < weight.mean() < 0.6  # the other start is the middle of the two layers
