"""Fusions by name, and how many parameters they have."""

import pytest
import torch

from dlfa_adapters.fusion import DLFA, FUSIONS, ConcatMLP, Fusion, OneLayer, ScalarMix, make_fusion, state_indices


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_dlfa_by_hand():
    """384 to 96 and back with biases, 2 * 384 * 96 + 96 + 384, and two norms, 2 * (96 + 384); two branches."""
    assert count(DLFA(384)) == 2 * (2 * 384 * 96 + 96 + 384 + 2 * (96 + 384)) == 150_336
    assert count(DLFA(384, norm="none")) == 2 * (2 * 384 * 96 + 96 + 384) == 148_416
    assert count(DLFA(384, branches="local")) == count(DLFA(384, branches="global")) == 150_336
    assert count(DLFA(384, num_lower=3)) == 3 * 150_336


@pytest.mark.parametrize("num_lower", [1, 2, 3])
@pytest.mark.parametrize("reduction", [4, 2, 1])
@pytest.mark.parametrize("width", [256, 312, 384, 768, 1024])
def test_concat_has_as_many(width, reduction, num_lower):
    ours, control = DLFA(width, reduction, num_lower=num_lower), ConcatMLP(width, reduction, num_lower)
    assert count(control) == pytest.approx(count(ours), rel=0.03)


def test_the_others():
    assert count(make_fusion("scalar_mix", 384, num_layers=12)) == 13 + 1
    assert count(make_fusion("last", 384, num_layers=12)) == 0
    assert count(make_fusion("layer", 384, num_layers=12)) == 0


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_fusion_takes_the_states_that_its_indices_name(fusion):
    module = make_fusion(fusion, 8, num_layers=4, num_lower=1)
    assert isinstance(module, Fusion)
    assert type(module) is {"dlfa": DLFA, "concat": ConcatMLP, "scalar_mix": ScalarMix}.get(fusion, OneLayer)
    states = [torch.randn(2, 3, 8) for _ in state_indices(fusion, (2,), 4)]
    assert module(*states, attention_mask=torch.ones(2, 3)).shape == (2, 3, 8)


def test_every_option_reaches_the_module():
    module = make_fusion(
        "dlfa", 8, num_layers=4, num_lower=2, reduction=2, branches="local", gate="attention", norm="layer",
        init="identity", mask_padding=False,
    )  # fmt: skip
    assert module.gate == "attention"
    assert len(module.aif) == 2
    for branch in module.aif[1].branches:
        assert (branch.pooled, branch.mask_padding) == (False, False)
        assert branch.conv1.out_features == 4
        assert isinstance(branch.norm1, torch.nn.LayerNorm)
        assert (branch.shift < -2).all()
