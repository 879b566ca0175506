"""A run over a language adapter, read with other languages' adapters: in Python, and as a user types it."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters import load_run
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.learning import train
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.saved import read_report
from dlfa_adapters.scores.show import notes
from dlfa_cli.main import app

WORDS = ["Anna met Bob in Rome", "New York is far", "the Bank of Rome", "bob and anna met", "A b C d E f G h"]
SENTENCES = [(text.split(), ["PROPN" if word[0].isupper() else "NOUN" for word in text.split()]) for text in WORDS]


def dlfa(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A tiny encoder, texts, labelled sentences in three languages, and adapters `en`, `de`, `sw`, trained by the
    command line."""
    place = tmp_path_factory.mktemp("place")
    save_masked_encoder(place / "encoder")
    rows = ["".join(f"{w}\t{t}\n" for w, t in zip(*sentence, strict=True)) for sentence in SENTENCES]
    for language in ("en", "de", "sw"):
        (place / f"{language}.txt").write_text("\n".join(f"{language} anna met bob {'ab' * i}" for i in range(40)))
        (place / "data" / language).mkdir(parents=True)
        (place / "data" / language / "test.tsv").write_text("\n".join(rows), "utf-8")
        done = dlfa(
            "train-language", language, "--text", place / f"{language}.txt", "--model", place / "encoder", "--out",
            place / "adapters" / language, "--steps", 4, "--batch-size", 4, "--max-length", 32, "--lr", "0.03",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    weights = load_file(place / "adapters" / "de" / "adapter.safetensors")  # so different that tags change
    for tensor in weights.values():
        tensor.add_(0.5 * torch.randn(tensor.shape))
    save_file(weights, place / "adapters" / "de" / "adapter.safetensors")
    record = json.loads((place / "adapters" / "de" / "language.json").read_text("utf-8"))
    record["files"]["adapter.safetensors"] = sha256_of(place / "adapters" / "de" / "adapter.safetensors")
    (place / "adapters" / "de" / "language.json").write_text(json.dumps(record), "utf-8")
    return place


@pytest.fixture(scope="module")
def run(place):
    return train(
        "pos", train_data=SENTENCES * 2, language="en", model=str(place / "encoder"), epochs=30, batch_size=10,
        tuning=f"stack:{place / 'adapters' / 'en'}", out=place / "pos", learning_rate=1e-2, head_learning_rate=1e-2,
    )  # fmt: skip


def tags(model):
    return model.predict([words for words, _ in SENTENCES])


def logits(tagger):
    encoded = tagger.tokenizer(["Anna met Bob in Rome", "far"], padding=True, return_tensors="pt")
    with torch.no_grad():
        return tagger.model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits


def test_what_the_command_line_says(place):
    done = dlfa(
        "train-language", "fr", "--text", place / "en.txt", "--model", place / "encoder", "--out", place / "fr",
        "--steps", 2, "--batch-size", 4, "--max-length", 32, "--leave-out", "2-2", "--reduction", 4,
        "--decoder-lr", 0.1,
    )  # fmt: skip
    for said in (
        "Adapter: fr, seq_bn_inv, reduction 4, none in block 2; new decoder", "40 paragraphs, 2 held out", "learn (",
        "Steps: 2, batch 4 x 32, learning rate 0.0005, decoder 0.1, ",
    ):  # fmt: skip
        assert said in done.stderr
    assert "Perplexity on 2 held-out paragraphs: " in done.stdout
    assert "before (with a decoder that knows frequencies alone), " in done.stdout
    assert f"dlfa train ner --tuning stack:{place / 'fr'}" in done.stdout
    again = dlfa(
        "train-language", "fr", "--text", place / "en.txt", "-m", place / "encoder", "-o", place / "fr", "--steps", 1,
        "--max-length", 32, "--json",
    )  # fmt: skip
    assert json.loads(again.stdout) == json.loads((place / "fr" / "language.json").read_text("utf-8"))
    for arguments in (["de"], ["--text", "x"], []):
        with pytest.raises(ConfigError, match="Give a language and its text, or --resume and a folder"):
            dlfa("train-language", *arguments)
    with pytest.raises(ConfigError, match="--resume goes on with the options of the beginning; leave out --text"):
        dlfa("train-language", "de", "--text", "x", "--resume", "y")


def test_a_run_keeps_its_language_until_another_is_named(run, place):
    english, german = load_run(run), load_run(run, place / "adapters" / "de")
    assert english.model.language_adapter == "en"
    assert german.model.language_adapter == "de"
    assert (logits(english) - logits(german)).abs().max() > 1e-3
    assert german.labels == english.labels == run.config["labels"]
    expected = logits(english)
    assert english.use_language(place / "adapters" / "de") == "de"
    assert logits(english).equal(logits(german))
    assert english.use_language("en") == "en"
    assert logits(english).equal(expected)


def test_each_language_is_read_with_its_own(run, place):
    adapters = {"de": place / "adapters" / "de"}
    predictions = predict_run(run, place / "data", languages=["en", "de", "sw"], language_adapters=adapters)
    found = {language.language: language.predicted for language in predictions.languages}
    source, german = load_run(run), load_run(run, adapters["de"])
    assert found == {"en": tags(source), "de": tags(german), "sw": tags(source)}
    assert tags(source) != tags(german)  # the same words: only the adapter differs
    report = build_report(predictions, resamples=5)
    assert report.about["run"]["language_adapters"] == {
        "source": "en", "given": {"de": {"location": str(adapters["de"]), "language": "de"}}
    }  # fmt: skip
    [note] = [note for note in notes(report) if "adapters" in note]
    assert note == f"Language adapters: de with {adapters['de']} (of de); en, sw with the one of the source, en."
    plain = build_report(predict_run(run, place / "data"), resamples=5)
    assert "Language adapters: de, en, sw with the one of the source, en." in notes(plain)


def test_in_16_bits_the_encoder_is_still_the_right_one(run, place):
    """Its weights, once cast, would give another fingerprint."""
    adapters = {"de": place / "adapters" / "de"}
    found = predict_run(run, place / "data", languages=["de"], language_adapters=adapters, precision="bf16")
    [german] = found.languages
    agree = sum(a == b for a, b in zip(german.predicted, tags(load_run(run, adapters["de"])), strict=True))
    assert agree >= len(SENTENCES) - 1


def test_on_the_command_line(run, place):
    read = {}
    for name in ("en", "de"):
        options = () if name == "en" else ("--language-adapter", place / "adapters" / name)
        done = dlfa("predict", run.folder, *options, *(" ".join(words) for words, _ in SENTENCES), "--json")
        read[name] = [row["tags"] for row in json.loads(done.stdout)]
    assert read == {"en": tags(load_run(run)), "de": tags(load_run(run, place / "adapters" / "de"))}
    own = [f"--language-adapter={name}={place / 'adapters' / name}" for name in ("de", "sw")]
    done = dlfa("evaluate", run.folder, "--data", place / "data", *own, "--resamples", 5, "--out", place / "scores")
    assert done.exit_code == 0
    assert "en with the one of the source, en." in " ".join(done.stdout.split())
    report = read_report(place / "scores")
    assert list(report.about["run"]["language_adapters"]["given"]) == ["de", "sw"]


def test_refusals(run, place, tiny_folder):
    adapter = place / "adapters" / "de"
    for given, message in (
        (["de"], "expects LANGUAGE=FOLDER, got 'de'"),
        ([f"={adapter}"], "expects LANGUAGE=FOLDER"),
        ([f"de={adapter}", "de=x"], f"names de twice: {adapter} and x"),
        ([f"fr={adapter}"], "a language adapter for fr, but the data are in de, en, sw"),
    ):
        options = [f"--language-adapter={text}" for text in given]
        with pytest.raises(ConfigError, match=message):
            dlfa("evaluate", run.folder, "--data", place / "data", *options)
    other = train(
        "pos", train_data=SENTENCES, language="en", model=str(place / "encoder"), epochs=1, tuning="bottleneck",
        out=place / "bottleneck",
    )  # fmt: skip
    for work in (
        lambda: load_run(other, adapter),
        lambda: predict_run(other, place / "data", language_adapters={"de": adapter}),
    ):
        with pytest.raises(ConfigError, match="was trained with bottleneck, not over a language adapter"):
            work()
    with pytest.raises(ConfigError, match=r"but active is Stack\[pos\]"):
        load_run(other).use_language(adapter)
    with pytest.raises(ConfigError, match="of width 16 and depth 2, this model is bert of width 16 and depth 3"):
        train("pos", train_data=SENTENCES, model=str(tiny_folder), tuning=f"stack:{adapter}", out=place / "refused")
    assert not (place / "refused").exists()
