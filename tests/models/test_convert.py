"""A head of adapters and a plain model are the same thing in two forms."""

import pytest
import torch

from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAForSequenceClassification, DLFAForTokenClassification
from dlfa_adapters.tuning.convert import to_adapters, to_plain

KINDS = (
    "albert",
    "bert",
    "bert-generation",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "roberta",
    "xlm-roberta",
)


@torch.no_grad()
def scores(model, batch, **options):
    return model(**batch, **options).logits


@pytest.fixture
def shaken(tiny_model, batch):
    """An adapter model whose head has moved, running statistics included."""

    def build(kind="bert", head_name="ner", **options):
        model = tiny_model(kind)
        model.add_dlfa_head(head_name, **{"fuse_layer": 2, **options})
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.heads[head_name].parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
            model.train()(**batch)
        return model.eval()

    return build


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back_to_the_bit(kind, shaken, batch):
    model = shaken(kind)
    plain = to_plain(model, "ner")
    assert not hasattr(plain.config.encoder_config, "prediction_heads")
    expected = scores(model, batch)
    assert torch.equal(scores(plain, batch), expected)
    back = to_adapters(plain, "ner")
    assert torch.equal(scores(back, batch), expected)
    assert (
        back.heads["ner"].config.items()
        >= {k: v for k, v in model.heads["ner"].config.items() if k not in ("dropout_prob", "encoder")}.items()
    )


@pytest.mark.parametrize(
    ("head_name", "options", "problem"),
    [
        ("xnli", {}, "single_label_classification"),
        ("topic", {"layers": 3, "activation_function": "relu", "bias": False}, "single_label_classification"),
        ("stars", {"head_type": "classification", "num_labels": 1}, "regression"),
        ("tags", {"head_type": "multilabel_classification", "num_labels": 5}, "multi_label_classification"),
    ],
)
def test_heads_for_texts(head_name, options, problem, shaken, batch):
    model = shaken(head_name=head_name, **options)
    plain = to_plain(model, head_name)
    assert type(plain) is DLFAForSequenceClassification
    assert plain.config.problem_type == problem
    assert plain.config.id2label == {v: k for k, v in model.heads[head_name].config["label2id"].items()}
    back = to_adapters(plain, "again")
    for other in (plain, back):
        assert torch.equal(scores(other, batch), scores(model, batch))
    labels = {
        "regression": torch.tensor([0.5, 1.0]),
        "multi_label_classification": torch.tensor([[0.0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]),
    }.get(problem, torch.tensor([0, 1]))
    losses = [other(**batch, labels=labels).loss.item() for other in (model, plain, back)]
    assert losses[1:] == pytest.approx(losses[:1] * 2, abs=1e-6)


def test_every_option_of_the_fusion(shaken, batch):
    options = {"fuse_layer": (3, 1), "reduction": 2, "branches": "local", "gate": "attention", "norm": "layer"}
    model = shaken(**options, init="identity", mask_padding=False, pooling="mean", dropout_prob=0.25)
    plain = to_plain(model, "ner")
    config = plain.config
    assert (config.fuse_layer, config.reduction, config.branches) == ([3, 1], 2, "local")
    assert (config.gate, config.norm, config.init, config.mask_padding) == ("attention", "layer", "identity", False)
    assert (config.pooling, config.classifier_dropout, config.task) == ("mean", 0.25, "ner")
    assert torch.equal(scores(to_adapters(plain, "ner"), batch), scores(model, batch))
    for fusion in ("last", "scalar_mix"):
        model = shaken(fusion=fusion, fuse_layer=None)
        assert torch.equal(scores(to_plain(model, "ner"), batch), scores(model, batch))


def test_a_saved_plain_model_becomes_a_head(tagger, pieces, sgd, logits, tmp_path):
    model = tagger()
    sgd(model, pieces)
    model.save_pretrained(tmp_path)
    back = to_adapters(DLFAForTokenClassification.from_pretrained(tmp_path), "chunks")
    assert torch.equal(logits(back), logits(model))
    back.add_adapter("chunks", config="seq_bn")
    back.train_adapter("chunks")
    grads = sgd(back, pieces, 1)
    assert any("adapters.chunks" in name for name in grads)


def test_the_source_is_not_touched(shaken, batch):
    model = shaken()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plain = to_plain(model, "ner")
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.zero_()
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_adapters_have_no_place_in_a_plain_encoder(shaken, batch):
    model = shaken()
    model.add_adapter("en", config="lora")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.1)
    model.set_active_adapters("en")
    with pytest.raises(ConfigError, match=r"Adapters are active \(en\).*model.merge_adapter\(name\)"):
        to_plain(model, "ner")
    expected = scores(model, batch)
    model.merge_adapter("en")
    torch.testing.assert_close(scores(to_plain(model, "ner"), batch), expected, atol=1e-5, rtol=0)
    model.set_active_adapters(None)  # which also takes it out of the weights again
    without = scores(model, batch)
    assert (without - expected).abs().max() > 1e-3
    assert torch.equal(scores(to_plain(model, "ner"), batch), without)


def test_heads_that_cannot_be_converted(shaken, tiny_model, tagger, classifier):
    model = shaken()
    with pytest.raises(ConfigError, match="This model has no DLFA head 'pos'; it has ner"):
        to_plain(model, "pos")
    model.add_dlfa_head("parse", head_type="dependency_parsing", num_labels=3)
    with pytest.raises(ConfigError, match="Head 'parse' is for dependency_parsing; there are plain models for tagging"):
        to_plain(model, "parse")
    with pytest.raises(UnsupportedModelError, match="no class of adapters for DLFA heads on 'modernbert'"):
        to_adapters(tagger("modernbert"), "ner")
    with pytest.raises(UnsupportedModelError, match="no class of adapters for DLFA heads on 'mt5'"):
        to_adapters(tagger("mt5"), "ner")
    with pytest.raises(ConfigError, match="reads the first token, but this model has pooling='mean'"):
        to_adapters(classifier(pooling="mean"), "xnli")
    with pytest.raises(ConfigError, match="has a bias, but this model has classifier_bias=False"):
        to_adapters(tagger(classifier_bias=False), "ner")


def test_scores_that_differ_are_an_error(shaken, monkeypatch):
    model = shaken()
    monkeypatch.setattr("dlfa_adapters.tuning.convert.probe_scores", lambda model, **o: torch.full((1,), float(len(o))))
    with pytest.raises(RunError, match=r"Head 'ner' gives other scores after conversion, by 1\.0e"):
        to_plain(model, "ner")
