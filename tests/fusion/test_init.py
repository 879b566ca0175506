"""How weights start, and that `reset_parameters` brings all of it back."""

import math

import pytest
import torch

from dlfa_adapters.fusion import DLFA, make_fusion

FUSIONS = ["dlfa", "scalar_mix", "concat", "last", "layer"]


def convolutions(dlfa):
    return [conv for aif in dlfa.aif for branch in aif.branches for conv in (branch.conv1, branch.conv2)]


@pytest.mark.parametrize("init", ["kaiming", "identity"])
@pytest.mark.parametrize("reduction", [4, 1])
def test_kaiming_weights_and_zero_biases(reduction, init):
    torch.manual_seed(0)
    dlfa = DLFA(256, reduction, init=init)
    assert len(convolutions(dlfa)) == 4
    for conv in convolutions(dlfa):
        std = math.sqrt(2 / conv.in_features)
        assert conv.weight.std().item() == pytest.approx(std, rel=0.03)
        assert conv.weight.mean().abs() < 4 * std / math.sqrt(conv.weight.numel())
        assert (conv.weight.abs() > 2 * std).float().mean().item() == pytest.approx(
            0.0455, abs=0.01
        )  # a normal's tails
        assert (conv.bias == 0).all()


def test_concat_starts_kaiming_with_zero_biases():
    torch.manual_seed(0)
    concat = make_fusion("concat", 256, num_layers=12)
    for linear in (concat.up, concat.down):
        assert linear.weight.std().item() == pytest.approx(math.sqrt(2 / linear.in_features), rel=0.03)
        assert (linear.bias == 0).all()


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("branches", ["both", "global", "local"])
def test_the_identity_start_is_in_the_last_shifts(branches, norm):
    dlfa = DLFA(8, branches=branches, norm=norm, init="identity", num_lower=2)
    for aif in dlfa.aif:
        first, second = (branch.shift for branch in aif.branches)
        assert torch.sigmoid(first + second).tolist() == pytest.approx([0.01] * 8, abs=1e-6)
        assert all((branch.conv2.weight != 0).all() for branch in aif.branches)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_norms_start_as_scale_one_and_shift_zero(norm):
    for branch in DLFA(8, norm=norm).aif[0].branches:
        for module in (branch.norm1, branch.norm2):
            assert (module.weight == 1).all()
            assert (module.bias == 0).all()


@pytest.mark.parametrize("fusion", ["dlfa", "concat"])
def test_a_seed_gives_the_same_weights(fusion):
    def build(seed):
        torch.manual_seed(seed)
        return make_fusion(fusion, 8, num_layers=4, num_lower=2).state_dict()

    torch.testing.assert_close(build(3), build(3), rtol=0, atol=0)
    assert any(not torch.equal(a, b) for a, b in zip(build(3).values(), build(4).values(), strict=True))


def test_branches_and_steps_start_different():
    torch.manual_seed(0)
    weights = [conv.weight for conv in convolutions(DLFA(8, branches="local", num_lower=2)) if conv.in_features == 8]
    assert len(weights) == 4
    assert len({tuple(weight.flatten().tolist()) for weight in weights}) == 4


@pytest.mark.parametrize("init", ["kaiming", "identity"])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("fusion", FUSIONS)
def test_reset_brings_everything_back(fusion, norm, init):
    """Memory that nobody has written to, as `from_pretrained` leaves a module that the checkpoint does not have."""

    def reset(module):
        torch.manual_seed(0)
        module.reset_parameters()
        return module.state_dict()

    fresh = make_fusion(fusion, 8, num_layers=4, norm=norm, init=init)
    used = make_fusion(fusion, 8, num_layers=4, norm=norm, init=init)
    with torch.no_grad():
        for tensor in (*used.parameters(), *used.buffers()):
            tensor.fill_(float("nan") if tensor.is_floating_point() else 99)
    torch.testing.assert_close(reset(used), reset(fresh), rtol=0, atol=0)
