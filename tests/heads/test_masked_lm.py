"""The masked-language-model head: logits at masked positions only, and the inverse of an invertible adapter."""

import pytest
import torch
from torch.nn import functional

import dlfa_adapters.heads.masked_lm as masked_lm
from dlfa_adapters.tuning.bottleneck import LanguageTuning


@pytest.fixture
def prepared(tiny_model):
    """A model with a language adapter whose weights are far from zero, and a decoder."""

    def build(family="bert", config="seq_bn_inv", **changes):
        model = LanguageTuning("xx", config).prepare(tiny_model(family, **changes), "lm")
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter) * (0.3 if "adapters" in name else 0.05))
        return model.eval()

    return build


@pytest.fixture
def labels(batch):
    labels = torch.full_like(batch["input_ids"], -100)
    for position in ((0, 1), (0, 4), (1, 0), (1, 3)):
        labels[position] = batch["input_ids"][position]
    return labels


def full_loss(model, batch, labels):
    logits = model(**batch).logits
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("logits_at_once", [2**27, 100, 250])
def test_the_loss_is_that_of_the_full_logits(logits_at_once, prepared, batch, labels, monkeypatch, family):
    """In one go, and with one or two positions at a time, gradients included; 100 is the vocabulary."""
    if logits_at_once < 2**27 and family not in ("bert", "electra"):
        return
    model = prepared(family)
    expected = full_loss(model, batch, labels)
    monkeypatch.setattr(masked_lm, "LOGITS_AT_ONCE", logits_at_once)
    output = model(**batch, labels=labels)
    assert output.logits is None
    torch.testing.assert_close(output.loss, expected, rtol=1e-6, atol=1e-6)
    ours, theirs = gradients(model, output.loss), gradients(model, expected)
    assert ours.keys() == theirs.keys() == {name for name, p in model.named_parameters() if p.requires_grad}
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, theirs[name], rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("config", ["seq_bn_inv", "double_seq_bn_inv", "seq_bn"])
def test_logits_equal_those_of_the_stock_head(config, prepared, batch):
    """Upstream's head, which holds the embeddings itself, with the same weights; the invertible adapter is in both."""
    model = prepared(config=config)
    model.add_masked_lm_head("stock")
    ours, stock = model.heads["lm"], model.heads["stock"]
    with torch.no_grad():
        for mine, theirs in ((ours.dense, stock[0]), (ours.norm, stock[2])):
            theirs.load_state_dict(mine.state_dict())
        stock[3].bias.copy_(ours.bias)
    assert stock[3].weight is model.get_input_embeddings().weight
    logits, expected = (model(**batch, head=head).logits for head in ("lm", "stock"))
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)
    if config != "seq_bn":
        forwards = model.base_model.get_invertible_adapter()
        hidden = torch.randn(1, 3, 16)
        torch.testing.assert_close(forwards(forwards(hidden), rev=True), hidden, rtol=1e-4, atol=1e-5)
        model.delete_adapter("xx")
        assert not torch.allclose(model(**batch, head="lm").logits, expected, atol=1e-2)


def test_parts_of_a_batch_add_up_to_the_whole(prepared, batch, labels):
    model = prepared()
    assert model.accepts_loss_kwargs
    whole = model(**batch, labels=labels).loss
    labels[0] = -100
    count = 4
    parts = []
    for row in (slice(0, 1), slice(1, 2)):
        part = {name: tensor[row] for name, tensor in batch.items()}
        chosen = torch.full_like(labels, -100)
        chosen[0, [1, 4]], chosen[1, [0, 3]] = batch["input_ids"][0, [1, 4]], batch["input_ids"][1, [0, 3]]
        parts.append(model(**part, labels=chosen[row], num_items_in_batch=torch.tensor(count)).loss)
    torch.testing.assert_close(sum(parts), whole)
    nothing = model(**batch, labels=torch.full_like(labels, -100), num_items_in_batch=torch.tensor(count)).loss
    assert nothing.item() == 0.0


def test_a_new_decoder_begins_with_frequencies(prepared):
    head, counts = prepared().heads["lm"], torch.arange(100)
    head.expect(counts)
    torch.testing.assert_close(head.bias.softmax(0), (counts + 1) / 5050)
    assert head.bias.requires_grad


def test_the_embeddings_are_not_the_heads(prepared):
    head = prepared().heads["lm"]
    assert set(head.state_dict()) == {"bias", "dense.weight", "dense.bias", "norm.weight", "norm.bias"}
