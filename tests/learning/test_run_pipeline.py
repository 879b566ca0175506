"""`pipeline("token-classification", model=RUN)` finds the entities that `dlfa predict` finds, whatever was tuned."""

import json

import pytest
import torch
import transformers
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, pipeline
from typer.testing import CliRunner

import dlfa_adapters  # noqa: F401
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAForSequenceClassification, DLFAForTokenClassification
from dlfa_adapters.predict.forms import convert_run, plain_model
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app

TUNINGS = {
    "full": {},
    "lora:2": {"pooling": "last"},
    "peft-lora:2": {"pooling": "mean"},
    "bottleneck": {},
    "stack": {},
    "features": {"fusion": "scalar_mix", "classifier": "bilstm", "lstm_hidden": 8, "batch_size": 1},
}
PLAIN = ("full", "lora:2", "peft-lora:2", "features")
TEXTS = [
    "Anna met Bob, in New York (far away)!",
    "王小明在北京大学学习。",
    "",
    "the Bank-of-Rome's  Anna\tisn't Bob's \u200b friend…",
    "Anna " * 30 + "met Rome",  # in several windows
    "   ",
    "Хлеб 123,4 Acme Acme",
]


@pytest.fixture(scope="module")
def runs(start, language_adapter, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")

    def train(tuning, options):
        name = f"stack:{language_adapter}" if tuning == "stack" else tuning
        common = {"epochs": 20, "learning_rate": 3e-2, "head_learning_rate": 3e-2, "max_length": 24, "context": 8}
        common |= {} if tuning == "features" else {"every": 20}  # dev is read twice
        return start("ner", root / tuning.replace(":", "-"), name, **{**common, **options})[0]

    return {tuning: train(tuning, options) for tuning, options in TUNINGS.items()}


@pytest.fixture
def errors(monkeypatch):
    """What Transformers' pipelines log as errors."""
    found = []
    monkeypatch.setattr(transformers.pipelines.base.logger, "error", lambda text, *a: found.append(text))
    return found


def predicted(run, text):
    """The entities of `dlfa predict --json`, as types and words."""
    done = CliRunner().invoke(app, ["predict", str(run.folder), text, "--json"], catch_exceptions=False)
    [row] = json.loads(done.stdout)
    return [(entity["type"], entity["words"]) for entity in row["entities"]]


@pytest.mark.parametrize("tuning", TUNINGS)
def test_the_entities_of_predict(tuning, runs, errors):
    tag = pipeline("token-classification", model=str(runs[tuning].folder), aggregation_strategy="simple")
    assert isinstance(tag.model, DLFAForTokenClassification) == (tuning in PLAIN)
    assert not errors
    tagger, kinds = load_run(runs[tuning]), set()
    for batch_size in (1, 3):
        found = tag(TEXTS, batch_size=batch_size)
        assert len(found) == len(TEXTS)
        for text, entities in zip(TEXTS, found, strict=True):
            expected = spans_of(tagger, text)
            assert [(entity["entity_group"], entity["start"], entity["end"]) for entity in entities] == expected
            assert all(entity["word"] == text[entity["start"] : entity["end"]] for entity in entities)
            assert all(0 < entity["score"] <= 1 for entity in entities)
            kinds |= {entity["entity_group"] for entity in entities}
    assert len(kinds) > 1  # it has learnt something
    json.dumps(found)


def spans_of(tagger, text):
    """Types and places of the entities that the tagger of a run finds, straight from its tags."""
    from dlfa_adapters.data.words import split_words
    from dlfa_adapters.kinds.tagging import lenient_spans

    words, places = split_words(text), []
    for word in words:
        start = text.index(word, places[-1][1] if places else 0)
        places.append((start, start + len(word)))
    [tags] = tagger.predict([words])
    return [(kind, places[first][0], places[last][1]) for kind, first, last in lenient_spans(tags)]


def test_the_command_line_says_the_same(runs):
    run, text = runs["full"], TEXTS[0]
    entities = pipeline("ner", model=str(run.folder), aggregation_strategy="simple")(text)
    found = [(entity["entity_group"], "".join(entity["word"].split())) for entity in entities]
    assert found == [(kind, "".join(words)) for kind, words in predicted(run, text)]
    assert found


def test_single_words_languages_and_words_that_are_given(runs):
    tag = pipeline("token-classification", model=str(runs["full"].folder))
    tagger = load_run(runs["full"])
    every = tag("Anna met Bob.", ignore_labels=[])
    assert [(word["word"], word["index"]) for word in every] == [("Anna", 1), ("met", 2), ("Bob", 3), (".", 4)]
    assert [word["entity"] for word in every] == tagger.predict([["Anna", "met", "Bob", "."]])[0]
    assert [word["word"] for word in tag("Anna", language="zh", ignore_labels=[])] == list("Anna")
    given = tag(["New York", "met", "Bob"], is_split_into_words=True, ignore_labels=[])[0]
    assert [(word["word"], word["start"]) for word in given] == [("New York", 0), ("met", 9), ("Bob", 13)]
    assert [word["entity"] for word in given] == tagger.predict([["New York", "met", "Bob"]])[0]
    with pytest.raises(ValueError, match="cuts long texts into windows by itself"):
        tag("Anna", stride=2)


def test_other_models_get_the_stock_pipeline(tiny_folder, tmp_path):
    config = transformers.AutoConfig.from_pretrained(tiny_folder, num_labels=3)
    model = transformers.BertForTokenClassification(config)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_folder)
    tag = pipeline("token-classification", model=model, tokenizer=tokenizer)
    assert type(tag) is transformers.TokenClassificationPipeline
    assert len(tag("Anna", ignore_labels=[])) == 4  # pieces


@pytest.mark.parametrize("tuning", PLAIN)
def test_a_plain_model_of_a_run(tuning, runs, logits, tmp_path):
    model, tokenizer = plain_model(runs[tuning].folder)
    loaded = load_run(runs[tuning])
    torch.testing.assert_close(logits(model, tokenizer), logits(loaded.model, tokenizer), atol=1e-5, rtol=1e-5)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = pipeline("token-classification", model=str(tmp_path), aggregation_strategy="simple")
    assert again.model.config.windows == {"max_length": 24, "context": 8}
    assert again(TEXTS) == pipeline("ner", model=str(runs[tuning].folder), aggregation_strategy="simple")(TEXTS)
    auto = AutoModelForTokenClassification.from_pretrained(runs[tuning].folder, dtype=torch.bfloat16)
    assert auto.dtype == torch.bfloat16


def test_convert(runs, tmp_path):
    out = tmp_path / "tagger"
    done = CliRunner().invoke(app, ["convert", str(runs["lora:2"].folder), str(out)], catch_exceptions=False)
    assert f"pipeline('token-classification', model='{out}')" in done.stdout
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {path.name for path in out.iterdir()}
    assert "span_f1_lenient (dev)" in (out / "README.md").read_text("utf-8")
    assert "\n# tagger\n" in (out / "README.md").read_text("utf-8")  # and not what it was called as a draft
    assert "seed 0, 40 steps." in (out / "README.md").read_text("utf-8")
    assert "_name_or_path" not in json.loads((out / "config.json").read_text("utf-8"))["encoder_config"]  # a place here
    found = pipeline("ner", model=str(out), aggregation_strategy="simple")(TEXTS)
    assert found == pipeline("ner", model=str(runs["lora:2"].folder), aggregation_strategy="simple")(TEXTS)
    with pytest.raises(ConfigError, match="exists and is not an empty folder"):
        convert_run(runs["full"], out)


def test_what_has_no_plain_form_says_so(runs):
    for tuning in ("bottleneck", "stack"):
        with pytest.raises(
            UnsupportedModelError, match=r"has no plain form: its adapter '\w+' stands between the layers"
        ):
            plain_model(runs[tuning])


@pytest.mark.parametrize("tuning", ["full", "bottleneck"])
def test_texts(tuning, start, errors, items, tmp_path):
    run, _ = start("mood", tmp_path / "run", tuning, fuse_layer=2)
    classify = pipeline("text-classification", model=str(run.folder))
    texts = [text for text, _ in items["mood"]]
    assert [found["label"] for found in classify(texts)] == load_run(run).predict(texts)
    assert not errors
    assert isinstance(classify.model, DLFAForSequenceClassification) == (tuning == "full")
    with pytest.raises(RunError, match=r"is a run for classification; type pipeline\('text-classification'"):
        AutoModelForTokenClassification.from_pretrained(run.folder)


def test_refusals(runs):
    with pytest.raises(RunError, match="is a run for tagging"):
        AutoModelForSequenceClassification.from_pretrained(runs["full"].folder)
    with pytest.raises(ConfigError, match="leave device_map out"):
        AutoModelForTokenClassification.from_pretrained(runs["full"].folder, device_map="auto")
