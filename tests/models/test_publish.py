"""The card, the hub, and pipelines on a saved folder."""

import logging
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import HfApi, ModelCard
from tiny_tokenizer import character_tokenizer
from transformers import pipeline
from transformers.pipelines import base

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.models import Card, DLFAForSequenceClassification, DLFAForTokenClassification

CARD = Card(
    scores={"de": {"span_f1": 0.754, "span_f1_strict": 0.7}, "sw": {"span_f1": None}},
    dataset="unimelb-nlp/wikiann",
    source_language="en",
    license="mit",
    training="Trained by `dlfa train ner`, seed 0.",
    tags=("ner",),
)


@pytest.fixture
def model(tagger):
    return tagger(id2label={0: "O", 1: "B-LOC", 2: "I-LOC"}, task="ner")


def test_the_card_says_what_was_measured(model, tmp_path):
    model.config.encoder_name = "bert-base-multilingual-cased"
    model.save_pretrained(tmp_path / "my-tagger", card=CARD)
    card = ModelCard.load(tmp_path / "my-tagger" / "README.md")
    data = card.data
    assert (data.library_name, data.pipeline_tag, data.license) == ("transformers", "token-classification", "mit")
    assert (data.base_model, data.language, data.datasets) == (
        "bert-base-multilingual-cased",
        ["de", "en", "sw"],
        ["unimelb-nlp/wikiann"],
    )
    assert data.tags == ["dlfa-adapters", "layer-fusion", "cross-lingual", "ner"]
    assert data.metrics == ["span_f1", "span_f1_strict"]
    results = [(r.dataset_config, r.metric_type, r.metric_value) for r in data.eval_results]
    assert results == [("de", "span_f1", 0.754), ("de", "span_f1_strict", 0.7)]
    text = card.text
    assert "| language | span_f1 | span_f1_strict |\n|---|---|---|\n| de | 75.4 | 70.0 |\n| sw | – | – |" in text
    assert "In percent, on unimelb-nlp/wikiann, labels for training in en only." in text
    assert "Fusion: `dlfa`, fuse layer: 2" in text
    assert "Labels: `O`, `B-LOC`, `I-LOC`." in text
    assert 'pipeline("token-classification", model="my-tagger", aggregation_strategy="simple")' in text
    assert "Trained by `dlfa train ner`, seed 0." in text


def test_without_scores_the_card_says_so(classifier, tmp_path):
    classifier().save_pretrained(tmp_path, card=Card())
    card = ModelCard.load(tmp_path / "README.md")
    assert "No scores were given." in card.text
    assert card.data.eval_results is None
    assert 'pipeline("text-classification"' in card.text


def test_scores_are_shares(model, tmp_path):
    for wrong in (75.4, float("nan"), True):
        with pytest.raises(ConfigError, match=r"A score must be in 0..1, or None, got .* for f1 in 'de'"):
            model.save_pretrained(tmp_path, card=Card(scores={"de": {"f1": wrong}}))


def test_the_hub_gets_the_card(model, monkeypatch):
    seen = {}

    def upload(self, repo_id, folder_path, **options):
        from pathlib import Path

        seen.update(options, repo_id=repo_id, files=sorted(p.name for p in Path(folder_path).iterdir()))
        seen["card"] = (Path(folder_path) / "README.md").read_text("utf-8")
        return "done"

    monkeypatch.setattr(HfApi, "create_repo", lambda self, repo_id, **_: SimpleNamespace(repo_id=f"me/{repo_id}"))
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    assert model.push_to_hub("tagger", card=CARD, commit_message="First") == "done"
    assert seen["repo_id"] == "me/tagger"
    assert seen["commit_message"] == "First"
    assert seen["files"] == ["README.md", "config.json", "model.safetensors"]
    assert 'model="me/tagger"' in seen["card"]
    assert "model-index" in seen["card"]
    with pytest.raises(ConfigError, match=r"by name; got use_temp_dir"):
        model.push_to_hub("tagger", card=CARD, use_temp_dir=True)


@pytest.fixture
def no_errors(caplog, monkeypatch):
    """Pipelines log an error for a class that they do not know."""
    monkeypatch.setattr(base.logger, "propagate", True)
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    with caplog.at_level(logging.WARNING):
        yield
    assert "not supported" not in caplog.text


@pytest.fixture
def folder(tiny_folder, pieces, sgd, tmp_path):
    """A tagger that was trained a little, saved with its tokenizer."""
    model = DLFAForTokenClassification.from_encoder(tiny_folder, 2, id2label={0: "O", 1: "B-LOC", 2: "I-LOC"})
    sgd(model, {**pieces, "input_ids": pieces["input_ids"] % 80}, 3)
    with torch.no_grad():
        model.classifier.out[-1].weight.mul_(100)  # so that tokens differ in their labels
    model.save_pretrained(tmp_path)
    character_tokenizer().save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("no_errors")
def test_a_pipeline_of_entities(folder):
    text = "Anna met Bob in Rome"
    tag = pipeline("token-classification", model=str(folder), aggregation_strategy="simple")
    assert type(tag.model) is DLFAForTokenClassification
    entities = tag(text)
    tokens = tag.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = tokens.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        scores = tag.model(**tokens).logits[0].softmax(-1)
    best = zip(offsets, scores.argmax(-1).tolist(), strict=True)
    firsts = {start: tag.model.config.id2label[label] for (start, end), label in best if end > start}
    covered = {i for entity in entities for i in range(entity["start"], entity["end"])}
    for start, end in ((0, 4), (5, 8), (9, 12), (13, 15), (16, 20)):  # a word has the label of its first piece
        assert (set(range(start, end)) <= covered) == (firsts[start] != "O")
    assert {entity["entity_group"] for entity in entities} == {"LOC"}


@pytest.mark.usefixtures("no_errors")
def test_a_pipeline_of_texts(tiny_folder, tmp_path):
    names = {0: "bad", 1: "good"}
    model = DLFAForSequenceClassification.from_encoder(tiny_folder, 2, task="sentiment", id2label=names)
    model.save_pretrained(tmp_path)
    character_tokenizer().save_pretrained(tmp_path)
    classify = pipeline("text-classification", model=str(tmp_path), top_k=None)
    [scores] = classify(["a fine day"])
    with torch.no_grad():
        expected = model(**classify.tokenizer("a fine day", return_tensors="pt")).logits[0].softmax(-1)
    assert {entry["label"]: pytest.approx(entry["score"], abs=1e-6) for entry in scores} == {
        name: expected[i].item() for i, name in names.items()
    }
