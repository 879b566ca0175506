"""`--center`: trained on centred languages by every way of training, saved with the run, applied by language."""

import json
import shutil

import pytest
import torch
from tiny_masked import save_masked_encoder
from transformers import AutoModelForTokenClassification
from typer.testing import CliRunner

from dlfa_adapters.analysis.language_text import text_of_data
from dlfa_adapters.analysis.means import measure_encoder_means, measure_run_means
from dlfa_adapters.analysis.parallel import measure_run
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.export import export_onnx
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.kinds import TokenAccuracy
from dlfa_adapters.learning import train
from dlfa_adapters.predict.forms import convert_run, load_fast
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.runs import read_run
from dlfa_adapters.scores.evaluate import build_report, evaluate_run
from dlfa_adapters.scores.show import notes
from dlfa_adapters.sweeps import run_sweep
from dlfa_cli.analyze.models import read_models
from dlfa_cli.main import app

WORDS = ["Anna met Bob in Rome", "New York is far", "the Bank of Rome", "bob and anna met", "A b C d E f G h"]


def rows(words):
    """Words with a tag that depends on the first letter."""
    tags = {True: "PROPN", False: "NOUN"}
    return "\n".join("".join(f"{word}\t{tags[word[0].isupper()]}\n" for word in text.split()) for text in words)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An encoder, data in three languages and three splits, means of all and of two languages."""
    place = tmp_path_factory.mktemp("centred")
    save_masked_encoder(place / "encoder")
    save_masked_encoder(place / "still", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    texts = {"en": WORDS, "de": [text.lower() for text in WORDS], "sw": [text[::-1] for text in WORDS]}
    for language, words in texts.items():
        (place / "data" / language).mkdir(parents=True)
        for split, some in (("train", words * 2), ("dev", words[:3]), ("test", words)):
            (place / "data" / language / f"{split}.tsv").write_text(rows(some), "utf-8")
    for name, languages in (("means", None), ("two", ["en", "de"])):
        text, _ = text_of_data(place / "data", "pos", "train", languages)
        measure_encoder_means(load_encoder(str(place / "encoder")), text).save(place / f"{name}.safetensors")
    return place


@pytest.fixture(scope="module")
def trained(place, tmp_path_factory):
    """trained(tuning="features", ...): a run on English, centred by the means of all languages."""

    def trained(center="means.safetensors", tuning="features", model="encoder", **given):
        options = {"epochs": 6, "batch_size": 4, "fuse_layer": 1, "learning_rate": 1e-2, **given}
        out, center = tmp_path_factory.mktemp("run") / "run", center and str(place / center)
        return train(
            "pos", train_data=place / "data", model=str(place / model), tuning=tuning, out=out, center=center,
            **options,
        )  # fmt: skip

    return trained


@pytest.fixture(scope="module")
def run(trained):
    return trained()


def by_hand(run, words, language):
    """Logits of a head on states of its encoder, from which the mean of a language was taken."""
    predictor = load_run(run)
    predictor.language = language
    model = predictor.model
    ids = torch.tensor([predictor.encode([words]).rows[0].input_ids])
    means = LanguageMeans.read(run.folder / "center.safetensors").of(language)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        hooks = model.base_model._forward_hooks
        hooks.clear()
        states = model.base_model(ids, output_hidden_states=True).hidden_states
        head = model.heads[model.active_head]
        fused = head.fusion(*(states[k] - means[k] for k in head.indices), attention_mask=torch.ones_like(ids))
        if head.bilstm is not None:
            fused = head.bilstm(fused, torch.ones_like(ids))
        return logits, head.inner(type(model.base_model(ids))(last_hidden_state=fused), None, None, True)["logits"]


WAYS = {
    "features": {"tuning": "features"},
    "lstm": {"tuning": "features", "classifier": "bilstm", "lstm_hidden": 4, "epochs": 2},
    "lora": {"tuning": "lora"},
    "peft": {"tuning": "peft-lora", "gradient_checkpointing": True},
    "bottleneck": {"tuning": "bottleneck", "pooling": "mean"},
    "full": {"tuning": "full", "learning_rate": 1e-3},
    "frozen block": {"tuning": "freeze:1", "learning_rate": 1e-3, "states": "cached"},
    "last": {"tuning": "features", "fusion": "last", "fuse_layer": None},
    "mix": {"tuning": "features", "fusion": "scalar_mix", "fuse_layer": None},
    "two sources": {"tuning": "features", "language": "en,de"},
    "two sources, lora": {"tuning": "lora", "language": "en,sw"},
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_learnt_is_what_predicts(trained, place, way):
    """The score on dev is that of the loaded run, in each language; the head reads states without its mean."""
    run = trained(**WAYS[way])
    sources = WAYS[way].get("language", "en").split(",")
    found = predict_run(run, place / "data", split="dev", languages=sources)
    metric, both = TokenAccuracy(), {"predictions": [], "references": []}
    for each in found.languages:
        both["predictions"] += each.predicted
        both["references"] += each.gold
    score = 100 * metric.compute(**both)["accuracy"]
    assert score == pytest.approx(max(run.config["training"]["dev_scores"]), abs=1e-3)
    for language in ("en", "de", "sw") if way != "peft" else ():
        logits, expected = by_hand(run, ["Anna", "met", "bob"], language)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)


def test_means_of_nothing_change_nothing(trained, place, tmp_path):
    """Taken off in training too: with means of zero all weights are those of a training without."""
    means = LanguageMeans.read(place / "means.safetensors")
    for tensor in means.tensors.values():
        tensor.zero_()
    means.save(place / "zero.safetensors")
    for tuning in ("features", "lora"):
        states = []
        for center in (None, "zero.safetensors", "means.safetensors"):
            model = load_run(trained(center, tuning=tuning)).model
            states.append({name: value.clone() for name, value in model.heads["pos"].state_dict().items()})
        plain, zero, centred = states
        assert all(torch.equal(plain[name], zero[name]) for name in plain)
        assert not all(torch.allclose(plain[name].float(), centred[name].float(), atol=1e-3) for name in plain)


def test_cached_lower_states_learn_what_the_blocks_learn(trained):
    still = {"model": "still", "tuning": "freeze:1", "learning_rate": 1e-3}
    runs = [trained(states=states, **still) for states in ("cached", "through")]
    weights = [load_run(run).model.heads["pos"].state_dict() for run in runs]
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=1e-3, atol=1e-4)  # steps of 1e-3, rounded otherwise


def test_the_run_has_its_means(run, place):
    assert run.config["format"] == 2
    assert run.config["center"]["layers"] == [1, 2]
    assert run.config["center"]["languages"] == ["de", "en", "sw"]
    own = LanguageMeans.read(run.folder / "center.safetensors")
    assert run.config["center"]["fingerprint"] == own.digest == LanguageMeans.read(place / "means.safetensors").digest
    assert run.config["training"]["center"].endswith("means.safetensors")
    record = json.loads((run.folder / "run.json").read_text("utf-8"))
    (run.folder / "run.json").write_text(json.dumps({**record, "format": 1}), "utf-8")
    with pytest.raises(RunError, match="has run format 1, this version reads format 2"):
        read_run(run.folder)
    (run.folder / "run.json").write_text(json.dumps(record), "utf-8")
    read_run(run.folder)


def test_a_run_without_them_has_the_format_of_before(trained):
    config = trained(None).config
    assert config["format"] == 1
    assert "center" not in config


def test_the_report_says_so(run, place):
    report = build_report(predict_run(run, place / "data"), resamples=2)
    assert "Every language was centred in layers 1, 2, in training and here: its mean, of " in " ".join(notes(report))
    assert report.about["run"]["center"] == run.config["center"]


def test_a_language_without_a_mean_is_refused_before_the_model_is_loaded(trained, place, monkeypatch):
    run = trained("two.safetensors")
    monkeypatch.setattr("dlfa_adapters.predict.run.load_run", None)
    with pytest.raises(ConfigError, match="has means of en, de, not of sw; name one of these with --language"):
        predict_run(run, place / "data")
    with pytest.raises(ConfigError, match="not of sw"):
        evaluate_run(run, place / "data", languages=["en", "sw"])


def test_without_a_language_nothing_is_predicted(run):
    tagger = load_run(run)
    with pytest.raises(ConfigError, match="must be told the language of what it reads; type"):
        tagger.predict([["Anna"]])
    tagger.language = "de"
    assert len(tagger.predict([["Anna", "met"]])[0]) == 2


def test_on_the_command_line(run, place, monkeypatch, tmp_path):
    def dlfa(*arguments):
        return CliRunner().invoke(app, [*map(str, arguments)])

    done = dlfa("predict", run.folder, "--language", "sw", "Anna met Bob")
    assert done.exit_code == 0, done.output
    tagger = load_run(run)
    tagger.language = "sw"
    assert done.stdout.split()[1::2] == tagger.predict([["Anna", "met", "Bob"]])[0]
    for named in ((), ("--language", "fr")):
        refused = dlfa("predict", run.folder, *named, "Anna met Bob").exception
        assert isinstance(refused, ConfigError)
        assert f"not of {'fr' if named else 'an unknown language'}" in str(refused)
    options = ("--center", place / "means.safetensors", "--model", place / "encoder", "--epochs", 1)
    command = ("train", "pos", "--train", place / "data", "--out", tmp_path / "run", "--tuning", "features", *options)
    done = dlfa(*command)
    assert done.exit_code == 0, done.output
    assert "Centred: all languages, in layers" in done.output
    refused = dlfa(*("no.safetensors" if each == options[1] else each for each in command)).exception
    assert isinstance(refused, DataError)
    evaluated = dlfa("evaluate", tmp_path / "run", "--data", place / "data", "--resamples", 2)
    assert "Every language was centred in layers" in evaluated.stdout


def test_what_would_lose_the_means_is_refused(run, place, tmp_path):
    """A plain model, an ONNX file, a pipeline: nothing tells them a language."""
    for call in (
        lambda: convert_run(run, tmp_path / "plain"),
        lambda: load_fast(run, compile=True),
        lambda: AutoModelForTokenClassification.from_pretrained(run.folder),
        lambda: predict_run(run, place / "data", shift=f"{place / 'means.safetensors'}@1:1"),
        lambda: measure_run_means(run, {}),
        lambda: measure_run(run, [("Anna met Bob", "in Rome"), ("far", "in York")]),
        lambda: read_models([run.folder], None, None),
        lambda: train("parse", train_data=place / "data", out=tmp_path / "parser", upos=str(run.folder)),
    ):
        with pytest.raises(ConfigError, match=r"was trained on centred languages \(--center\), so .* train without"):
            call()
    pytest.importorskip("onnxruntime")
    with pytest.raises(ConfigError, match="so it cannot be exported: what it reads depends on a language"):
        export_onnx(run, tmp_path / "x.onnx")


def test_data_without_means_and_means_of_another_encoder(trained, place, tmp_path):
    with pytest.raises(ConfigError, match="none of sw; add them with: dlfa analyze means"):
        trained("two.safetensors", language="sw")
    save_masked_encoder(tmp_path / "other", intermediate_size=24)
    text, _ = text_of_data(place / "data", "pos", "train")
    measure_encoder_means(load_encoder(str(tmp_path / "other")), text).save(place / "other.safetensors")
    with pytest.raises(ConfigError, match=r"the mean of en in layer 0 is of .*make means of this model"):
        trained("other.safetensors")


def test_other_means_are_another_training(place, tmp_path, monkeypatch):
    """The file may change under its name."""
    center = tmp_path / "means.safetensors"
    shutil.copy(place / "means.safetensors", center)
    given = {
        "train_data": str(place / "data"), "model": str(place / "encoder"), "tuning": "lora", "center": str(center),
        "out": tmp_path / "run", "epochs": 3, "batch_size": 4, "fuse_layer": 1,
    }  # fmt: skip

    def stop(number):
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("pos", on_step=stop, **given)
    means = LanguageMeans.read(center)
    means.tensors["en"].add_(1)
    means.save(center)
    with pytest.raises(RunError, match=r"The data of the training of .* changed since it began"):
        train("pos", resume=True, **given)
    shutil.copy(place / "means.safetensors", center)
    train("pos", resume=True, **given)


def test_the_layer_is_chosen_on_centred_states(trained):
    choices = [trained(center, fuse_layer="auto", epochs=2) for center in (None, "means.safetensors")]
    scores = [run.config["training"]["fuse_layer_choice"] for run in choices]
    assert choices[1].config["center"]["layers"] == [1, 2]
    assert scores[0]["layer"] == scores[1]["layer"] == 1  # the only one
    assert len(scores[1]["scores"]) == 1


SWEPT = {"features": {"tuning": "features"}, "lora": {"tuning": "lora", "head_learning_rates": (1e-2,)}}


@pytest.mark.parametrize("way", SWEPT)
def test_sweeps_score_what_their_heads_predict(place, tmp_path, way):
    given = {
        "train_data": place / "data", "model": str(place / "encoder"), "layers": [1], "seeds": 1, "epochs": 2,
        "batch_size": 4, "learning_rate": 1e-2, "plots": False, "out": tmp_path / "sweep", **SWEPT[way],
    }  # fmt: skip
    told = []
    done = run_sweep("pos", center=str(place / "means.safetensors"), note=told.append, **given)
    rows = {row.spec.name: row.scores() for row in done.result.rows}
    if way == "features":
        assert done.best.config["center"]["layers"] == sorted({*done.result.best().spec.head.states(2)})
        report = evaluate_run(done.best, place / "data", resamples=2)
        for each in report.table.languages:
            expected = rows[done.result.best().spec.name][each.language]
            assert 100 * each.scores["accuracy"].value == pytest.approx(expected, abs=1e-3)
        with pytest.raises(RunError, match="holds a sweep with center="):
            run_sweep("pos", **given)
    else:
        assert any("centred languages are not stacked" in line or "one after another" in line for line in told)
        run = train(
            "pos", train_data=place / "data", model=str(place / "encoder"), center=str(place / "means.safetensors"),
            tuning="lora", fuse_layer=1, epochs=2, batch_size=4, learning_rate=1e-2, head_learning_rate=1e-2,
            min_steps=0, out=tmp_path / "run",
        )  # fmt: skip
        report = evaluate_run(run, place / "data", resamples=2)
        best = next(row for row in done.result.rows if row.spec.name == "D_1")
        if best.epoch == len(best.dev):
            for each in report.table.languages:
                assert 100 * each.scores["accuracy"].value == pytest.approx(best.scores()[each.language], abs=1e-3)


def test_a_sweep_needs_the_means_of_all_that_it_scores(place, tmp_path):
    with pytest.raises(ConfigError, match="none of sw"):
        run_sweep(
            "pos", train_data=place / "data", model=str(place / "encoder"), center=str(place / "two.safetensors"),
            out=tmp_path / "sweep", epochs=1,
        )  # fmt: skip
