"""Forward and loss of the two models."""

import jaxtyping
import pytest
import torch
from torch.nn import functional

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.loss import mean_loss


def test_states_only_for_those_who_ask(tagger, pieces):
    inputs = {name: pieces[name] for name in ("input_ids", "attention_mask")}
    model = tagger()
    asked = model(**inputs, output_hidden_states=True, output_attentions=False)
    assert list(asked) == ["logits", "hidden_states"]
    assert [state.shape for state in asked.hidden_states] == [(4, 7, 16)] * 5
    expected = model.encoder(**inputs, output_hidden_states=True).hidden_states
    assert all(torch.equal(state, other) for state, other in zip(asked.hidden_states, expected, strict=True))
    model.config.output_hidden_states = True
    assert list(model(**inputs)) == ["logits", "hidden_states"]
    assert list(model(**inputs, output_hidden_states=False)) == ["logits"]


def test_the_encoder_computes_states_only_where_a_lower_one_is_fused(tagger, pieces):
    for options, expected in (({}, True), ({"fusion": "last", "fuse_layer": None}, False)):
        model = tagger(**options)
        asked = []
        hook = model.encoder.register_forward_pre_hook(
            lambda module, args, kwargs, seen=asked: seen.append(kwargs["output_hidden_states"]), with_kwargs=True
        )
        assert list(model(**pieces)) == ["loss", "logits"]
        assert asked == [expected]
        hook.remove()


def test_attentions_on_request(tagger, pieces):
    model = tagger()
    model.set_attn_implementation("eager")
    output = model(**pieces, output_attentions=True)
    assert list(output) == ["loss", "logits", "attentions"]
    assert len(output.attentions) == 4


def test_a_tuple_on_request(tagger, pieces):
    model = tagger()
    output, pair = model(**pieces), model(**pieces, return_dict=False)
    assert isinstance(pair, tuple)
    assert len(pair) == 2
    assert all(torch.equal(*both) for both in zip(pair, (output.loss, output.logits), strict=True))


def test_ids_of_segments_do_no_harm_where_the_encoder_has_none(tagger, logits):
    for kind in ("distilbert", "modernbert", "mt5"):
        model = tagger(kind)
        assert torch.equal(logits(model, token_type_ids=torch.zeros(4, 7, dtype=torch.long)), logits(model))
    model = tagger("bert")
    assert not torch.equal(logits(model, token_type_ids=torch.ones(4, 7, dtype=torch.long)), logits(model))


def test_embeddings_instead_of_ids(tagger, logits, pieces):
    model = tagger()
    embedded = model.get_input_embeddings()(pieces["input_ids"])
    assert torch.equal(logits(model, input_ids=None, inputs_embeds=embedded), logits(model))


def test_padding_changes_nothing(tagger, classifier, sgd, pieces):
    """C22: a sentence's scores depend neither on its batch mates nor on the padding beside it."""
    for model in (tagger("xlm-roberta"), classifier("xlm-roberta", pooling="mean"), classifier("xlm-roberta")):
        labels = pieces["labels"] if model.kind == "tagging" else torch.tensor([0, 1, 2, 0])
        sgd(model, {**pieces, "labels": labels}, 3)
        inputs = {name: pieces[name] for name in ("input_ids", "attention_mask")}
        whole = model(**inputs).logits
        alone = model(input_ids=pieces["input_ids"][3:, :2]).logits
        torch.testing.assert_close(whole[3, :2] if whole.dim() == 3 else whole[3], alone[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize(("pooling", "position"), [("first", 0), ("last", -1), ("mean", None)])
def test_the_token_that_speaks_for_a_text_is_a_real_one(pooling, position, classifier):
    """XLM-R's positions follow the mask, so that left padding leaves its states as they are."""
    model = classifier("xlm-roberta", pooling=pooling, norm="layer")
    ids = torch.tensor([[7, 8, 9, 10]])
    states = model.encoder(ids, output_hidden_states=True)
    fused = model.classifier.fusion(states.hidden_states[2], states.last_hidden_state)[0]
    expected = model.classifier.out(fused.mean(0) if position is None else fused[position])
    for padded in (
        torch.tensor([[7, 8, 9, 10]]),
        torch.tensor([[1, 1, 7, 8, 9, 10]]),
        torch.tensor([[7, 8, 9, 10, 1]]),
    ):
        scores = model(input_ids=padded, attention_mask=(padded != 1).long()).logits[0]
        torch.testing.assert_close(scores, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(model(input_ids=ids).logits[0], expected, atol=1e-5, rtol=0)


def test_a_pooling_that_does_not_exist(classifier):
    with pytest.raises(ConfigError, match="pooling must be one of first, last, mean; got 'cls'"):
        classifier(pooling="cls")


def test_one_sentence_alone_can_be_trained(tagger, classifier, pieces):
    """C22: a batch of one is an item too few for batch statistics in the global branch; nothing breaks."""
    for model, labels in ((tagger(), pieces["labels"][:1]), (classifier(), torch.tensor([1]))):
        loss = model.train()(input_ids=pieces["input_ids"][:1], labels=labels).loss
        loss.backward()
        assert loss.isfinite()
        assert all(buffer.isfinite().all() for buffer in model.buffers())
        assert all(p.grad.isfinite().all() for p in model.classifier.parameters() if p.grad is not None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_mixed_precision_keeps_the_statistics_in_float32(dtype, tagger, pieces):
    """C22: under autocast the squares of large features would overflow in half precision."""
    model = tagger()
    with torch.no_grad():
        model.encoder.encoder.layer[1].output.LayerNorm.weight.mul_(400)
    with torch.autocast("cpu", dtype):
        loss = model.train()(**pieces).loss
    loss.backward()
    statistics = {name: buffer for name, buffer in model.named_buffers() if "running_" in name}
    assert {buffer.dtype for buffer in statistics.values()} == {torch.float32}
    assert all(buffer.isfinite().all() for buffer in statistics.values())
    assert loss.dtype == torch.float32


def test_the_loss_of_tags_is_the_mean_over_labels(tagger, pieces):
    output = tagger()(**pieces)
    kept = pieces["labels"] != -100
    expected = functional.cross_entropy(output.logits[kept], pieces["labels"][kept])
    assert output.loss.item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "labels", "problem", "loss"),
    [
        ({}, torch.tensor([0, 2, -100, 1]), "single_label_classification", functional.cross_entropy),
        (
            {},
            torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]),
            "multi_label_classification",
            functional.binary_cross_entropy_with_logits,
        ),
        ({"num_labels": 1}, torch.tensor([0.5, -1.0, 2.0, 0.0]), "regression", functional.mse_loss),
    ],
)
def test_the_three_problems_of_a_classifier(options, labels, problem, loss, classifier, pieces):
    model = classifier(**options)
    output = model(**{**pieces, "labels": labels})
    assert model.config.problem_type == problem
    expected = loss(output.logits.squeeze(-1) if problem == "regression" else output.logits, labels)
    assert output.loss.item() == pytest.approx(expected.item(), abs=1e-6)
    given = classifier(**options, problem_type=problem)
    assert given(**{**pieces, "labels": labels}).loss.item() == output.loss.item()


def test_a_share_by_hand():
    """Two labels of three count here, of six in the whole batch; with equal scores each costs log 3."""
    labels, log3 = torch.tensor([[0, 2, -100]]), torch.log(torch.tensor(3.0)).item()
    for count, expected in ((None, log3), (6, log3 / 3), (torch.tensor(6), log3 / 3), (torch.tensor([6]), log3 / 3)):
        assert mean_loss(torch.zeros(1, 3, 3), labels, num_items_in_batch=count).item() == pytest.approx(expected)
    nothing = torch.full((1, 3), -100)
    assert mean_loss(torch.zeros(1, 3, 3), nothing).item() == 0.0
    assert mean_loss(torch.zeros(1, 3, 3, dtype=torch.float16), labels).dtype == torch.float32


@pytest.fixture
def unchecked_shapes():
    """Without the checks of the shape annotations, which cannot be traced."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
    torch.compiler.reset()


@pytest.mark.usefixtures("unchecked_shapes")
def test_the_whole_model_is_one_graph(tagger, logits):
    model = tagger()
    expected = logits(model)
    torch.testing.assert_close(logits(torch.compile(model, backend="eager", fullgraph=True)), expected)
