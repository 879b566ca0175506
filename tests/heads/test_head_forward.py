"""What the head computes: against the bare encoder, the fusion and the stock head put together by hand."""

import inspect

import pytest
import torch
from transformers.modeling_outputs import BaseModelOutput

from dlfa_adapters.ground.errors import ConfigError

INPUTS = {
    "tagging": {"labels": torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])},
    "classification": {"labels": torch.tensor([0, 2])},
    "multilabel_classification": {"labels": torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])},
    "multiple_choice": {"labels": torch.tensor([1])},
    "question_answering": {"start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([4, 3])},
    "dependency_parsing": {
        "word_starts": torch.tensor([[1, 2, 4, 5, 6, 0, 0], [1, 2, 3, 4, 0, 0, 0]]),
        "labels_arcs": torch.tensor([[2, 4, 2, 1, 0, 0, 0], [2, 3, 1, 0, 0, 0, 0]]),
        "labels_rels": torch.tensor([[0, 1, 2, 0, 0, 0, 0], [1, 1, 2, 0, 0, 0, 0]]),
    },
}
SIZES = {"multiple_choice": {"num_choices": 2}, "question_answering": {}}


def add(model, head_type, **options):
    model.add_dlfa_head("head", 1, head_type, **SIZES.get(head_type, {"num_labels": 3}), **options)
    return model


def encode(model, batch):
    model.active_head = None
    output = model.base_model(**batch, output_hidden_states=True)
    model.active_head = "head"
    return output.hidden_states, output.last_hidden_state


@pytest.mark.parametrize("head_type", INPUTS)
def test_every_inner_head_gets_the_fused_state(head_type, tiny_model, shake, batch):
    model = shake(add(tiny_model(), head_type))
    inputs = INPUTS[head_type]
    states, last = encode(model, batch)
    head = model.heads["head"]
    fused = head.fusion(states[1], last, attention_mask=batch["attention_mask"])
    by_hand = head.inner(
        BaseModelOutput(last_hidden_state=fused), fused[:, 0], batch["attention_mask"], True, **dict(inputs)
    )
    output = model(**batch, **inputs)
    assert list(output) == list(by_hand)
    for key in by_hand:
        torch.testing.assert_close(output[key], by_hand[key], atol=1e-5, rtol=0)
    unfused = head.inner(BaseModelOutput(last_hidden_state=last), last[:, 0], batch["attention_mask"], True, **inputs)
    assert not torch.allclose(unfused[list(unfused)[1]], by_hand[list(unfused)[1]], atol=1e-4)


@pytest.mark.parametrize("head_type", INPUTS)
def test_return_dict_false_gives_the_same_in_order(head_type, tiny_model, shake, batch):
    model = shake(add(tiny_model(), head_type))
    for inputs in ({}, INPUTS[head_type]):
        if head_type == "dependency_parsing":
            inputs = inputs or {"word_starts": INPUTS[head_type]["word_starts"]}
        named, plain = model(**batch, **inputs), model(**batch, **inputs, return_dict=False)
        assert isinstance(plain, tuple)
        assert len(plain) == len(named.to_tuple())
        assert all(torch.equal(a, b) for a, b in zip(plain, named.to_tuple(), strict=True))


@pytest.mark.parametrize("head_type", ["tagging", "classification"])
def test_every_family_by_hand(family, head_type, tiny_model, shake, batch):
    model = shake(add(tiny_model(family), head_type))
    states, last = encode(model, batch)
    head = model.heads["head"]
    fused = head.fusion(states[1], last, attention_mask=batch["attention_mask"])
    logits = (
        head.inner[1](fused)
        if head_type == "tagging"
        else head.inner(BaseModelOutput(last_hidden_state=fused), fused[:, 0], None, True).logits
    )
    for return_dict in (True, False):
        output = model(**batch, return_dict=return_dict)
        torch.testing.assert_close(output[0], logits, atol=1e-5, rtol=0)


def test_the_upper_state_is_the_last_hidden_state(tiny_model, shake, batch):
    """Not hidden_states[-1]: some encoders norm only one of the two."""
    model = shake(add(tiny_model(), "tagging"))
    states, last = encode(model, batch)
    head = model.heads["head"]
    expected = head.inner[1](head.fusion(states[1], 2 * last, attention_mask=batch["attention_mask"]))

    def double(module, args, output):
        output["last_hidden_state"] = 2 * output["last_hidden_state"]
        return output

    model.bert.register_forward_hook(double)
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("fusion", "fuse_layer", "indices"),
    [
        ("last", None, (4,)),
        ("layer", 2, (2,)),
        ("scalar_mix", None, (0, 1, 2, 3, 4)),
        ("concat", (3, 0), (3, 0, 4)),
        ("dlfa", (3, 1), (3, 1, 4)),
        ("dlfa", 4, (4, 4)),
        ("dlfa", 0, (0, 4)),
    ],
)
def test_every_fusion_gets_its_layers(fusion, fuse_layer, indices, tiny_model, shake, batch):
    model = tiny_model()
    model.add_dlfa_head("head", fuse_layer, "tagging", num_labels=3, fusion=fusion)
    shake(model)
    states, last = encode(model, batch)
    chosen = [last if k == 4 else states[k] for k in indices]
    head = model.heads["head"]
    expected = head.inner[1](head.fusion(*chosen, attention_mask=batch["attention_mask"]))
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("head_type", ["tagging", "classification", "multiple_choice", "question_answering"])
def test_fusion_last_with_right_padding_equals_the_stock_head(head_type, tiny_model, batch):
    model = tiny_model()
    size = SIZES.get(head_type, {"num_labels": 3})
    name = {"question_answering": "qa"}.get(head_type, head_type)
    getattr(model, f"add_{name}_head")("stock", **size)
    model.add_dlfa_head("head", None, head_type, **size, fusion="last")
    model.heads["head"].inner.load_state_dict(model.heads["stock"].state_dict())
    ours, stock = model(**batch, **INPUTS[head_type]), model(**batch, **INPUTS[head_type], head="stock")
    assert list(ours) == list(stock)
    for key in stock:
        torch.testing.assert_close(ours[key], stock[key], atol=1e-6, rtol=0)


def test_hidden_states_are_handed_out_only_when_asked_for(tiny_model, batch):
    model = add(tiny_model(), "tagging")
    assert list(model(**batch)) == ["logits"]
    assert len(model(**batch, return_dict=False)) == 1
    assert len(model(**batch, output_hidden_states=True).hidden_states) == 5
    assert len(model(**batch, output_hidden_states=True, return_dict=False)[1]) == 5
    assert "hidden_states" not in model(**batch, output_hidden_states=False)
    model.config.output_hidden_states = True
    assert len(model(**batch).hidden_states) == 5
    assert "hidden_states" not in model(**batch, output_hidden_states=False)


def test_positional_arguments_and_return_dict_in_the_configuration(tiny_model, batch):
    model = add(tiny_model(), "tagging")
    expected = model(**batch).logits
    ids, mask = batch["input_ids"], batch["attention_mask"]
    assert torch.equal(model(ids, mask).logits, expected)
    everything = model(ids, mask, None, None, None, None, None, True, True)  # the last two: hidden states, return_dict
    assert len(everything.hidden_states) == 5
    embedded = model(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=mask)
    torch.testing.assert_close(embedded.logits, expected, atol=1e-6, rtol=0)
    model.config.return_dict = False
    assert isinstance(model(ids, mask), tuple)


def test_states_are_asked_for_only_when_a_head_needs_them(tiny_model, batch):
    """fusion="last" and stock heads run without."""
    model = tiny_model()
    model.add_tagging_head("stock", num_labels=3)
    model.add_dlfa_head("last", None, "tagging", num_labels=3, fusion="last")
    model.add_dlfa_head("head", 1, "tagging", num_labels=3)
    asked = []
    model.bert.register_forward_pre_hook(
        lambda module, args, kwargs: asked.append(kwargs["output_hidden_states"]), with_kwargs=True
    )
    for name in ("stock", "last", "head"):
        model(**batch, head=name)
    assert asked == [None, False, True]


def test_attentions_still_come_through(tiny_model, batch):
    model = add(tiny_model(attn_implementation="eager"), "tagging")
    output = model(**batch, output_attentions=True)
    assert len(output.attentions) == 4
    assert list(output) == ["logits", "attentions"]


def test_the_first_real_token_is_the_cls_output(tiny_model, shake, batch):
    """With left padding position 0 is padding; XLM-R gives the same states on both sides."""
    model = shake(add(tiny_model("xlm-roberta"), "classification"))
    left = {key: torch.stack([v[0], v[1].roll(2)]) for key, v in batch.items()}
    torch.testing.assert_close(model(**left).logits, model(**batch).logits, atol=1e-5, rtol=0)
    states, last = encode(model, left)
    head = model.heads["head"]
    fused = head.fusion(states[1], last, attention_mask=left["attention_mask"])
    at_zero = head.inner(BaseModelOutput(last_hidden_state=fused), fused[:, 0], None, True).logits
    assert not torch.allclose(at_zero[1], model(**left).logits[1], atol=1e-4)


def test_eval_logits_do_not_depend_on_batch_mates_or_padding(tiny_model, shake, batch):
    model = shake(add(tiny_model(), "tagging"))
    alone = {key: value[1:, :5] for key, value in batch.items()}
    torch.testing.assert_close(model(**batch).logits[1:, :5], model(**alone).logits, atol=1e-5, rtol=0)


def test_a_batch_with_a_single_item_in_training(tiny_model, batch):
    """One sentence for the global branch, one real token for all: finite, and the statistics stay untouched."""
    model = add(tiny_model(), "classification").train()
    head = model.heads["head"]
    before = {name: value.clone() for name, value in head.named_buffers()}
    one = {key: value[:1] for key, value in batch.items()}
    one["attention_mask"] = torch.tensor([[1, 0, 0, 0, 0, 0, 0]])
    output = model(**one, labels=torch.tensor([1]))
    output.loss.backward()
    assert torch.isfinite(output.logits).all()
    assert all(torch.isfinite(p.grad).all() for p in head.parameters())
    assert all(torch.equal(value, before[name]) for name, value in head.named_buffers())


def test_several_active_heads_give_nested_outputs_without_states(tiny_model, batch):
    model = tiny_model()
    for name in ("one", "two"):
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    model.active_head = ["one", "two"]
    output = model(**batch, labels=INPUTS["tagging"]["labels"])
    assert [list(item) for item in output.head_outputs] == [["loss", "logits"]] * 2
    torch.testing.assert_close(output.loss, output.head_outputs[0].loss + output.head_outputs[1].loss)
    assert torch.equal(output.head_outputs[0].logits, model(**batch, head="one").logits)
    asked = model(**batch, output_hidden_states=True)
    assert len(asked.head_outputs[1].hidden_states) == 5


def test_states_that_are_missing_are_named(tiny_model):
    model = add(tiny_model(), "tagging")
    with pytest.raises(ConfigError, match=r"Head 'head' needs the 5 hidden states of the encoder and got none; call"):
        model.heads["head"](BaseModelOutput(last_hidden_state=torch.zeros(1, 2, 16)), return_dict=True)


def test_signature_of_the_stock_class_without_a_dlfa_head(tiny_model):
    import adapters

    model = tiny_model()
    stock = inspect.signature(adapters.BertAdapterModel.forward)
    assert inspect.signature(type(model).forward) == stock
    add(model, "tagging")
    assert [*inspect.signature(type(model).forward).parameters] == [*stock.parameters][:-1] + ["labels", "kwargs"]
    model.delete_head("head")
    assert inspect.signature(type(model).forward) == stock


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_head_takes_the_dtype_of_the_model(dtype, tiny_model, batch):
    model = add(tiny_model().to(dtype), "tagging")
    assert model(**batch).logits.dtype == dtype
    buffers = [b for name, b in model.heads["head"].named_buffers() if "running" in name]
    assert {b.dtype for b in buffers} == {torch.promote_types(dtype, torch.float32)}


def test_autocast(tiny_model, batch):
    model = add(tiny_model(), "tagging").train()
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**batch, labels=INPUTS["tagging"]["labels"])
    output.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.heads["head"].parameters() if p.grad is not None)
    assert all(b.dtype != torch.bfloat16 for b in model.heads["head"].buffers())


def test_gradient_checkpointing_updates_the_statistics_once(tiny_model, train, batch):
    model = add(tiny_model(), "tagging")
    model.add_adapter("head", config="seq_bn")
    model.train_adapter("head")
    model.gradient_checkpointing_enable()
    train(model, batch, INPUTS["tagging"]["labels"])
    counts = {int(b) for name, b in model.heads["head"].named_buffers() if name.endswith("num_batches_tracked")}
    assert counts == {3}
