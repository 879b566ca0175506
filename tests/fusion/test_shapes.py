"""The shapes in the signatures are checked in every test (`--jaxtyping-packages` in pyproject.toml)."""

import pytest
import torch
from jaxtyping import TypeCheckError

from dlfa_adapters.fusion import AIF, DLFA, ConcatMLP, MaskedBatchNorm, OneLayer, ScalarMix, select_states

STATE = torch.zeros(2, 3, 8)


@pytest.mark.parametrize("fusion", [DLFA(8), ScalarMix(2), ConcatMLP(8)])
@pytest.mark.parametrize("other", [(2, 4, 8), (3, 3, 8), (2, 3, 9), (2, 1, 8), (3, 8)], ids=str)
def test_two_states_of_different_shape(fusion, other):
    with pytest.raises(TypeCheckError):
        fusion(torch.zeros(other), STATE)


@pytest.mark.parametrize("mask", [(2, 4), (3, 3), (2, 1), (2,), (2, 1, 1, 3)], ids=str)
@pytest.mark.parametrize("fusion", [DLFA(8), ScalarMix(2), ConcatMLP(8)])
def test_a_mask_that_does_not_fit(fusion, mask):
    with pytest.raises(TypeCheckError):
        fusion(STATE, STATE, attention_mask=torch.ones(mask))


@pytest.mark.parametrize("call", [DLFA(8).eval(), AIF(8), MaskedBatchNorm(8), OneLayer()])
def test_states_that_are_not_floating(call):
    integers = torch.zeros(2, 3, 8, dtype=torch.long)
    with pytest.raises(TypeCheckError):
        call(*[integers] * (2 if isinstance(call, DLFA) else 1))


class Narrowing(torch.nn.Module):
    def forward(self, x, mask):
        return x[..., 1:]


def test_what_is_returned_is_checked_as_well():
    aif = AIF(8)
    aif.branches[0].norm2 = Narrowing()
    with pytest.raises(TypeCheckError, match=r"return value of dlfa_adapters\.fusion\.aif\.Branch\.forward"):
        aif(STATE)


def test_selected_states_have_one_shape():
    with pytest.raises(TypeCheckError):
        select_states((0,), [torch.zeros(2, 4, 8)], STATE)
