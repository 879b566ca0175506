"""Gradients against finite differences in float64."""

import pytest
import torch
from torch.func import functional_call

from dlfa_adapters.fusion import DLFA, ConcatMLP, ScalarMix

from .batches import random_batch

WIDTH = 4


def check(module, num_states, fast_mode, mask_needed=True):
    """Gradcheck of the real positions, to the states and to every parameter."""
    torch.manual_seed(0)
    module = module.double()
    module.reset_parameters()
    with torch.no_grad():  # away from zero biases, which would hide a wrong gradient of a scale
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    states, mask = random_batch(5, num_states, (2, 1, 2), WIDTH)
    names = [name for name, _ in module.named_parameters()]
    inputs = [state.requires_grad_() for state in states]
    inputs += [parameter.detach().clone().requires_grad_() for parameter in module.parameters()]

    def fused(*tensors):
        parameters = dict(zip(names, tensors[num_states:], strict=True))
        out = functional_call(module, parameters, tensors[:num_states], {"attention_mask": mask})
        return out[mask.bool()]

    assert torch.autograd.gradcheck(fused, inputs, fast_mode=fast_mode)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("branches", ["both", "global", "local"])
@pytest.mark.parametrize("gate", ["product", "attention"])
def test_dlfa(gate, branches, norm, training):
    dlfa = DLFA(WIDTH, reduction=2, branches=branches, gate=gate, norm=norm).train(training)
    check(dlfa, 2, fast_mode=True)


def test_dlfa_every_entry_of_the_jacobian():
    check(DLFA(WIDTH, reduction=2), 2, fast_mode=False)


def test_dlfa_over_several_layers():
    check(DLFA(WIDTH, reduction=2, num_lower=3), 4, fast_mode=True)


def test_scalar_mix():
    check(ScalarMix(3), 3, fast_mode=False)


def test_concat():
    check(ConcatMLP(WIDTH, reduction=2, num_lower=2), 3, fast_mode=False)


@pytest.mark.parametrize("mask_padding", [True, False])
def test_padding_gets_a_gradient_only_where_it_is_counted(mask_padding):
    torch.manual_seed(0)
    dlfa = DLFA(WIDTH, mask_padding=mask_padding).double()
    (lower, upper), mask = random_batch(6, width=WIDTH)
    lower.requires_grad_()
    fused = dlfa(lower, upper, attention_mask=mask)[mask.bool()]
    (fused * torch.randn(fused.shape, dtype=fused.dtype)).sum().backward()
    assert (lower.grad[mask == 0] == 0).all() == mask_padding
    assert (lower.grad[mask == 1] != 0).any()
