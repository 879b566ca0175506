"""Stack, Fuse, Split, Average and AdapterDrop: the same composition on the bare encoder, then fusion and classifier."""

import pytest
import torch
from adapters import AdapterSetup
from adapters.composition import Average, Fuse, Split, Stack

COMPOSITIONS = {
    "single": "a",
    "stack": Stack("a", "b"),
    "fuse": Fuse("a", "b"),
    "stack of fuse": Stack("c", Fuse("a", "b")),
    "split": Split("a", "b", splits=[3, 4]),
    "average": Average("a", "b", weights=[0.3, 0.7]),
}


@pytest.fixture
def model(tiny_model, shake):
    model = tiny_model()
    for name in "abc":
        model.add_adapter(name, config="seq_bn")
    model.add_adapter_fusion(["a", "b"])
    model.add_dlfa_head("head", 1, "tagging", num_labels=3)
    return shake(model)


def by_hand(model, batch):
    output = model.bert(**batch, output_hidden_states=True)
    head = model.heads["head"]
    fused = head.fusion(output.hidden_states[1], output.last_hidden_state, attention_mask=batch["attention_mask"])
    return head.inner[1](fused)


@pytest.mark.parametrize("return_dict", [True, False])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_composition(composition, return_dict, model, batch):
    plain = model(**batch).logits
    model.set_active_adapters(COMPOSITIONS[composition])
    logits = model(**batch, return_dict=return_dict)[0]
    torch.testing.assert_close(logits, by_hand(model, batch), atol=1e-5, rtol=0)
    assert not torch.allclose(logits, plain, atol=1e-3)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_composition_in_a_context(composition, model, batch):
    model.set_active_adapters(COMPOSITIONS[composition])
    expected = model(**batch).logits
    model.set_active_adapters("c")
    with AdapterSetup(COMPOSITIONS[composition], head_setup="head"):
        torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=0)


def test_adapter_drop(model, batch):
    """Skipping adapters skips no blocks: there are still L + 1 states."""
    model.set_active_adapters(Stack("a", "b"))
    everywhere = model(**batch).logits
    model.set_active_adapters(Stack("a", "b"), skip_layers=[0, 1])
    dropped = model(**batch).logits
    torch.testing.assert_close(dropped, by_hand(model, batch), atol=1e-5, rtol=0)
    assert not torch.allclose(dropped, everywhere, atol=1e-3)


def test_adapter_drop_by_leave_out(tiny_model, shake, batch):
    from adapters import SeqBnConfig

    model = tiny_model()
    model.add_adapter("a", config=SeqBnConfig(leave_out=[0, 1, 3]))
    model.add_dlfa_head("head", 1, "tagging", num_labels=3)
    shake(model).set_active_adapters("a")
    torch.testing.assert_close(model(**batch).logits, by_hand(model, batch), atol=1e-5, rtol=0)


def test_fusion_attentions_and_gates_still_come_through(model, batch):
    model.set_active_adapters(Fuse("a", "b"))
    output = model(**batch, output_adapter_fusion_attentions=True)
    assert list(output) == ["logits", "adapter_fusion_attentions"]
    assert set(output["adapter_fusion_attentions"]["a,b"]) == {0, 1, 2, 3}
    plain = model(**batch, output_adapter_fusion_attentions=True, return_dict=False)
    assert isinstance(plain[-1], dict)
