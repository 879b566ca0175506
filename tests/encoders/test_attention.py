"""The weights of each attention head, in every family: those whose loss changes what that head gives, and no others."""

import pytest
import torch

from dlfa_adapters.encoders.attention import attention_of, head_weights
from dlfa_adapters.encoders.parts import blocks_of
from dlfa_adapters.ground.errors import UnsupportedModelError

TOLD_APART = ("bert", "bert-generation", "deberta-v2", "distilbert", "electra", "roberta", "xlm-roberta", "xmod")


def test_a_family_is_told_apart_or_refused(family, tiny_model):
    model = tiny_model(family)
    if family in TOLD_APART:
        found = attention_of(model)
        assert len(found) == 4
        assert {attention.heads for attention in found} == {2}
        assert head_weights(model).shape == (4, 2, 4, 8 * 16)
    else:
        with pytest.raises(UnsupportedModelError, match=f"attention heads of {family} cannot be told apart"):
            attention_of(model)


def test_heads_have_rows_of_three_projections_and_columns_of_the_fourth(tiny_model):
    model = tiny_model("bert", num_hidden_layers=2)
    attention = blocks_of(model)[1].attention
    found = head_weights(model)[1, 1]
    assert torch.equal(found[0].view(8, 16), attention.self.query.weight[8:])
    assert torch.equal(found[1].view(8, 16), attention.self.key.weight[8:])
    assert torch.equal(found[2].view(8, 16), attention.self.value.weight[8:])
    assert torch.equal(found[3].view(8, 16), attention.output.dense.weight[:, 8:].T)


def test_t5_whose_heads_are_not_a_share_of_the_width():
    from transformers import T5Config, T5EncoderModel

    model = T5EncoderModel(T5Config(vocab_size=30, d_model=16, d_kv=4, d_ff=8, num_layers=2, num_heads=3))
    assert head_weights(model).shape == (2, 3, 4, 4 * 16)


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_goes_into_the_output_projection_is_of_one_head_each(name, tiny_model, batch):
    """With the value rows of a head (and its bias) at zero, its values there are zero, those of others as before."""
    model = tiny_model(name)
    attention = attention_of(model)[0]
    value = attention.projections[2]

    def given():
        seen = []
        hook = attention.output.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
        with torch.no_grad():
            model.base_model(**batch)
        hook.remove()
        return seen[0].view(2, 7, 2, 8)

    before = given()
    with torch.no_grad():
        value.weight[:8] = 0
        value.bias[:8] = 0
    after = given()
    assert not after[:, :, 0].any()
    assert torch.equal(after[:, :, 1], before[:, :, 1])
    assert before[:, :, 0].any()
