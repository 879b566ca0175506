"""What each attention head gives: against the equation of attention, in every family, and through `compute_states`."""

import pytest
import torch

from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.head_states import HeadStates
from dlfa_adapters.encoders.parts import blocks_of, encoder_of
from dlfa_adapters.encoders.states import identity_of
from dlfa_adapters.ground.errors import RunError, UnsupportedModelError

REFUSED = ("albert", "deberta")


class Row:
    def __init__(self, *ids):
        self.input_ids = list(ids)


ROWS = [Row(5, 6, 7, 8, 9), Row(10, 11), Row(12, 13, 14, 15, 16, 17, 18)]


def by_hand(model, ids):
    """softmax(Q Kᵀ / √d) V of every head of every block, for one text; (tokens, layers * heads, d)."""
    with torch.no_grad():
        states = encoder_of(model)(torch.tensor([ids]), output_hidden_states=True).hidden_states
        found = []
        for block, state in zip(blocks_of(model), states, strict=False):
            attention = block.attention.self
            q, k, v = (
                part(state[0]).view(len(ids), 2, 8) for part in (attention.query, attention.key, attention.value)
            )
            for head in range(2):
                weights = torch.softmax(q[:, head] @ k[:, head].T / 8**0.5, dim=-1)
                found.append(weights @ v[:, head])
    return torch.stack(found, dim=1)


def test_heads_give_the_weighted_mean_of_their_values(tiny_model):
    model = tiny_model("bert", num_hidden_layers=3)
    states = compute_states(HeadStates(model), ROWS, 0, exact=True)
    assert (states.layers, states.num_layers, states.width) == ((0, 1, 2, 3, 4, 5), 5, 8)
    for number, row in enumerate(ROWS):
        found = states.tokens_of([number])
        assert torch.allclose(found, by_hand(model, row.input_ids), atol=1e-6)


def test_every_family_gives_as_many_states_or_is_refused(family, tiny_model):
    model = tiny_model(family)
    if family in REFUSED:
        with pytest.raises(UnsupportedModelError, match="cannot be told apart"):
            HeadStates(model)
        return
    heads = HeadStates(model)
    assert (heads.layers, heads.heads) == (4, 2)
    alone = [compute_states(heads, [row], 1, exact=True).tokens for row in ROWS]
    together = compute_states(heads, ROWS, 1, exact=True)
    assert together.tokens.shape == (14, 8, 8)
    assert torch.allclose(together.tokens, torch.cat(alone), atol=1e-5)
    assert together.tokens.std(dim=(0, 2)).min() > 0


def test_what_is_kept_is_known_to_be_heads(tiny_model):
    model = tiny_model("bert")
    assert identity_of(HeadStates(model), ROWS, [0]) != identity_of(model, ROWS, [0])
    assert identity_of(HeadStates(model), ROWS, [0]) == identity_of(HeadStates(tiny_model("bert")), ROWS, [0])


def test_a_lora_in_force_counts(tiny_model):
    """An active adapter changes what heads give; the hooks are gone afterwards."""
    from adapters import LoRAConfig

    model = tiny_model("bert")
    before = compute_states(HeadStates(model), ROWS, 0, exact=True).tokens
    model.add_adapter("x", config=LoRAConfig(init_weights="bert"))
    model.set_active_adapters("x")
    hooks = [len(module._forward_pre_hooks) for module in model.modules()]
    after = compute_states(HeadStates(model), ROWS, 0, exact=True).tokens
    assert not torch.allclose(before, after)
    assert [len(module._forward_pre_hooks) for module in model.modules()] == hooks


def test_some_tokens_alone_are_kept(tiny_model):
    model = tiny_model("bert")
    whole = compute_states(model, ROWS, 0, exact=True)
    part = compute_states(model, ROWS, 0, exact=True, kept=[[3, 0], [], [1, 2, 6]])
    assert part.offsets == [0, 2, 2, 5]
    assert torch.equal(part.tokens, whole.tokens[[3, 0, 8, 9, 13]])


def test_numbers_that_are_not_finite_are_refused(tiny_model):
    model = tiny_model("bert")
    with torch.no_grad():
        blocks_of(model)[2].attention.self.value.weight[0, 0] = float("nan")
    with pytest.raises(RunError, match="not finite"):
        compute_states(HeadStates(model), ROWS, 0)
