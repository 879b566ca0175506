"""`dlfa evaluate --shift`: each language towards the source, how alpha is picked, what the report says, refusals."""

import json

import pytest
import torch
from tiny_masked import save_masked_encoder
from torch.nn.functional import cosine_similarity
from typer.testing import CliRunner

from dlfa_adapters.analysis.language_text import text_of_data
from dlfa_adapters.analysis.means import measure_encoder_means, measure_run_means
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.encoders import load_encoder, shift_language
from dlfa_adapters.encoders.compute import parallel_cosine, sentence_means
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import TokenAccuracy
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.predict.shift import ALPHAS, layers_read
from dlfa_adapters.predict.shift_option import ShiftOption
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.saved import read_report, save_evaluation
from dlfa_adapters.scores.show import notes
from dlfa_cli.main import app

WORDS = ["Anna met Bob in Rome", "New York is far", "the Bank of Rome", "bob and anna met", "A b C d E f G h"]
LANGUAGES = ("en", "de", "sw")


def rows(words):
    """Words with a tag that depends on the first letter, one file's lines."""
    tags = {True: "PROPN", False: "NOUN"}
    return "\n".join("".join(f"{word}\t{tags[word[0].isupper()]}\n" for word in text.split()) for text in words)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An encoder, data in three languages and three splits, a run with a head alone and one with LoRA; their means."""
    place = tmp_path_factory.mktemp("shift")
    save_masked_encoder(place / "encoder")
    texts = {"en": WORDS, "de": [text.lower() for text in WORDS], "sw": [text[::-1] for text in WORDS]}
    for language, words in texts.items():
        (place / "data" / language).mkdir(parents=True)
        for split, some in (("train", words * 2), ("dev", words[:3]), ("test", words)):
            (place / "data" / language / f"{split}.tsv").write_text(rows(some), "utf-8")
        pairs = "".join(f"{a}\t{b}\n" for a, b in zip(WORDS, words, strict=True))
        (place / f"en-{language}.tsv").write_text(pairs, "utf-8")
    given = {"train_data": place / "data", "model": str(place / "encoder"), "batch_size": 4, "fuse_layer": 1}
    train("pos", tuning="features", epochs=20, out=place / "features", **given)
    train("pos", tuning="lora", epochs=20, learning_rate=1e-2, out=place / "lora", **given)
    text, _ = text_of_data(place / "data", "pos", "train")
    measure_encoder_means(load_encoder(str(place / "encoder")), text).save(place / "means.safetensors")
    text, _ = text_of_data(place / "data", "pos", "train")
    measure_run_means(place / "lora", text).save(place / "lora.safetensors")
    return place


def predicted(predictions):
    return {each.language: each.predicted for each in predictions.languages}


@pytest.mark.parametrize(("name", "means"), [("features", "means"), ("lora", "lora")])
@pytest.mark.parametrize("layer", [1, 2])
def test_every_language_but_the_source_is_shifted(place, name, means, layer):
    """As one would by hand, with the context; the source language stays."""
    file = place / f"{means}.safetensors"
    found = predict_run(place / name, place / "data", shift=f"{file}@{layer}:4.5")
    plain, tagger = predicted(predict_run(place / name, place / "data")), load_run(place / name)
    for each in found.languages:
        if each.language == "en":
            expected = tagger.predict(each.inputs)
            assert expected == plain["en"]
        else:
            with shift_language(tagger.model, file, source=each.language, target="en", layer=layer, alpha=4.5):
                expected = tagger.predict(each.inputs)
        assert each.predicted == expected
    assert predicted(found) != plain
    shift = found.about["run"]["shift"]
    assert (shift["layer"], shift["towards"], shift["picked"]) == (layer, "en", None)
    assert shift["alphas"] == {"de": 4.5, "sw": 4.5}
    assert shift["fingerprint"] == LanguageMeans.read(file).digest
    assert predicted(predict_run(place / name, place / "data", shift=f"{file}@{layer}:0")) == plain


def test_alpha_by_labels_is_the_best_on_that_split_and_the_report_says_so(place, tmp_path):
    file = place / "means.safetensors"
    found = predict_run(place / "features", place / "data", shift=f"{file}@2:dev")
    tagger, shift = load_run(place / "features"), found.about["run"]["shift"]
    for language in ("de", "sw"):
        [dev] = predict_run(place / "features", place / "data", split="dev", languages=[language]).languages
        for alpha in ALPHAS:
            with shift_language(tagger.model, file, source=language, target="en", layer=2, alpha=alpha):
                tags = tagger.predict(dev.inputs)
            score = 100 * TokenAccuracy().compute(predictions=tags, references=dev.gold)["accuracy"]
            assert shift["tried"][language][f"{alpha:g}"] == pytest.approx(score, abs=1e-3)
        best = max(shift["tried"][language].values())
        assert shift["alphas"][language] == min(a for a in ALPHAS if shift["tried"][language][f"{a:g}"] == best)
    report = build_report(found, resamples=2)
    said = " ".join(notes(report))
    assert f"The states of layer 2 were moved towards en by alpha times the difference of the means in {file}" in said
    assert f"alpha: de {shift['alphas']['de']:g}, sw {shift['alphas']['sw']:g}." in said or "in all languages" in said
    assert "labelled dev data of each language (the way of Liu et al. 2020): labels in the target languages" in said
    assert "so this is no zero-shot transfer" in said
    save_evaluation(tmp_path / "saved", found, report)
    assert notes(read_report(tmp_path / "saved")) == notes(report)


def test_alpha_by_text_brings_the_means_near_that_the_head_reads(place):
    file = place / "means.safetensors"
    means = LanguageMeans.read(file)
    found = predict_run(place / "features", place / "data", shift=f"{file}@1:text")
    shift, tagger = found.about["run"]["shift"], load_run(place / "features")
    assert layers_read(tagger.model) == [1, 2]
    for each in (each for each in found.languages if each.language != "en"):
        cosines = {}
        for alpha in ALPHAS:
            states = []
            for words in each.inputs:  # one after the other, so without padding
                ids = torch.tensor([tagger.encode([words]).rows[0].input_ids])
                with (
                    shift_language(tagger.model, means, source=each.language, target="en", layer=1, alpha=alpha),
                    torch.no_grad(),
                ):
                    outputs = tagger.model.base_model(ids, output_hidden_states=True)
                states.append(torch.stack([outputs.hidden_states[k][0, 1:-1] for k in (1, 2)], dim=1))
            mean = torch.cat(states).double().mean(0)
            cosines[alpha] = cosine_similarity(mean, means.of("en")[1:3].double(), dim=1).mean().item()
            assert shift["tried"][each.language][f"{alpha:g}"] == pytest.approx(cosines[alpha], abs=1e-5)
        assert shift["alphas"][each.language] == max(cosines, key=cosines.get)
    assert "nearest to that of en, by the cosine; no labels were looked at" in " ".join(notes(build_report(found)))


def test_alpha_by_parallel_text_brings_translations_near(place):
    file, parallel = place / "means.safetensors", {language: place / f"en-{language}.tsv" for language in ("de", "sw")}
    found = predict_run(place / "features", place / "data", shift=f"{file}@1:parallel", shift_parallel=parallel)
    shift, tagger = found.about["run"]["shift"], load_run(place / "features")
    sides = [encode_texts(tagger.tokenizer, texts)[0] for texts in (WORDS, [text.lower() for text in WORDS])]
    encoder, pad = tagger.model.base_model, tagger.tokenizer.pad_token_id
    for alpha in ALPHAS:
        first = sentence_means(encoder, sides[0], pad, [1, 2])
        with shift_language(encoder, file, source="de", target="en", layer=1, alpha=alpha):
            second = sentence_means(encoder, sides[1], pad, [1, 2])
        expected = parallel_cosine(first, second).mean().item()
        assert shift["tried"]["de"][f"{alpha:g}"] == pytest.approx(expected, abs=1e-6)
    assert "translations, as the head reads them, are nearest to their sentences in en" in " ".join(
        notes(build_report(found))
    )


def test_over_language_adapters(place, tmp_path):
    """Means of each language as it is read with its own adapter."""
    for language in ("en", "de"):
        text = tmp_path / f"{language}.txt"
        text.write_text("\n".join(f"{language} anna met bob {'ab' * i}" for i in range(40)), "utf-8")
        done = CliRunner().invoke(app, [
            "train-language", language, "--text", str(text), "--model", str(place / "encoder"), "--steps", "2",
            "--out", str(tmp_path / language), "--batch-size", "4", "--max-length", "32", "--lr", "0.03",
        ], catch_exceptions=False)  # fmt: skip
        assert done.exit_code == 0, done.output
    run = train(
        "pos", train_data=place / "data", model=str(place / "encoder"), tuning=f"stack:{tmp_path / 'en'}", epochs=2,
        batch_size=4, fuse_layer=1, out=tmp_path / "stack",
    )  # fmt: skip
    adapters, languages = {"de": tmp_path / "de"}, ["en", "de"]
    text, _ = text_of_data(place / "data", "pos", "train", languages)
    measure_run_means(run, text, adapters).save(tmp_path / "own.safetensors")
    text, _ = text_of_data(place / "data", "pos", "train", languages)
    measure_run_means(run, text).save(tmp_path / "sources.safetensors")
    given = {"languages": languages, "language_adapters": adapters}
    found = predict_run(run, place / "data", shift=f"{tmp_path / 'own.safetensors'}@2:text", **given)
    assert set(found.about["run"]["shift"]["alphas"]) == {"de"}
    with pytest.raises(ConfigError, match=r"the mean of de in layer 2 is of .*make means of this model"):
        predict_run(run, place / "data", shift=f"{tmp_path / 'sources.safetensors'}@2:1", **given)
    predict_run(run, place / "data", shift=f"{tmp_path / 'sources.safetensors'}@2:1", languages=languages)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("means.safetensors@6:1.0", ("means.safetensors", 6, 1.0, None)),
        ("a/b@c:d@12:-0.5", ("a/b@c:d", 12, -0.5, None)),
        ("m@1:dev", ("m", 1, None, "dev")),
        ("m@1:text", ("m", 1, None, "text")),
    ],
)
def test_requests(text, expected):
    assert ShiftOption.parse(text) == ShiftOption(*expected)


@pytest.mark.parametrize("text", ["means.safetensors", "m@6", "m@six:1", "@6:1", "m@6:", "m@6:labels", "m@-1:1"])
def test_requests_of_another_form(text):
    with pytest.raises(ConfigError, match="--shift expects FILE@LAYER:ALPHA, ALPHA a number or one of dev, train"):
        ShiftOption.parse(text)


REFUSED = [
    ("means.safetensors@0:1", {}, "A shift is at a layer from 1 to 2 of this encoder, got 0"),
    ("means.safetensors@3:1", {}, "A shift is at a layer from 1 to 2 of this encoder, got 3"),
    ("no.safetensors@1:1", {}, "expected a file of language means, but there is none of this name"),
    ("means.safetensors@1:1", {"compile": True}, "A compiled model does not look at shifts"),
    ("means.safetensors@1:dev", {"split": "dev"}, "alpha would be picked on the dev data that are scored"),
    ("means.safetensors@1:parallel", {}, "--shift-parallel de=en-de.tsv for each language belong together"),
    ("means.safetensors@1:1", {"shift_parallel": {"de": "x"}}, "for each language belong together"),
    ("means.safetensors@1:parallel", {"shift_parallel": {"de": "no.tsv"}}, "no.tsv: expected a file or a folder"),
]


@pytest.mark.parametrize(("shift", "given", "sentence"), REFUSED)
def test_what_is_refused_before_data_and_model_are_read(place, monkeypatch, shift, given, sentence):
    monkeypatch.chdir(place)
    monkeypatch.setattr("dlfa_adapters.predict.run.load_source", None)
    with pytest.raises((ConfigError, DataError), match=sentence):
        predict_run("features", "data", shift=shift, **given)


def test_what_is_refused_before_the_model_is_loaded(place, monkeypatch, tmp_path):
    monkeypatch.chdir(place)
    monkeypatch.setattr("dlfa_adapters.predict.run.load_run", None)
    (tmp_path / "tests").mkdir()
    for name in ("test-fr.tsv", "tests/test-de.tsv"):
        (tmp_path / name).write_text(rows(WORDS), "utf-8")
    shift = "means.safetensors@1:1"
    with pytest.raises(ConfigError, match="means of de, en, sw, but none of fr; add them with: dlfa analyze means"):
        predict_run("features", tmp_path / "test-fr.tsv", shift=shift)
    with pytest.raises(ConfigError, match="There is no parallel text for sw; add --shift-parallel sw=FILE"):
        predict_run("features", "data", shift="means.safetensors@1:parallel", shift_parallel={"de": "en-de.tsv"})
    with pytest.raises(DataError, match="dev"):  # it has no such split
        predict_run("features", tmp_path / "tests", shift="means.safetensors@1:dev")
    with pytest.raises(ConfigError, match="picks alpha on the dev split of the data, and these have no splits"):
        predict_run("features", tmp_path / "test-fr.tsv", languages=["de"], shift="means.safetensors@1:dev")
    with pytest.raises(ConfigError, match="--shift-parallel belongs to --shift FILE@LAYER:parallel"):
        predict_run("features", "data", shift_parallel={"de": "en-de.tsv"})


def test_means_of_another_encoder(place, tmp_path, monkeypatch):
    """That of a head alone is known before anything is loaded; with LoRA its weights tell."""
    text, _ = text_of_data(place / "data", "pos", "train")
    save_masked_encoder(tmp_path / "other", intermediate_size=24)
    measure_encoder_means(load_encoder(str(tmp_path / "other")), text).save(tmp_path / "other.safetensors")
    with pytest.raises(ConfigError, match="the mean of de in layer 2 is of"):
        predict_run(place / "lora", place / "data", shift=f"{place / 'means.safetensors'}@2:1")
    monkeypatch.setattr("dlfa_adapters.predict.run.load_run", None)
    with pytest.raises(ConfigError, match=r"has means of .*other with fingerprint .* make means of that one"):
        predict_run(place / "features", place / "data", shift=f"{tmp_path / 'other.safetensors'}@2:1")


def test_a_layer_that_the_head_does_not_reach(place, tmp_path):
    given = {"train_data": place / "data", "model": str(place / "encoder"), "batch_size": 4}
    run = train("pos", tuning="features", epochs=1, fusion="layer", fuse_layer=1, out=tmp_path / "alone", **given)
    shift = f"{place / 'means.safetensors'}@2:1"
    with pytest.raises(ConfigError, match="reads layer 1 alone, which a shift at layer 2 does not reach; type a layer"):
        predict_run(run, place / "data", shift=shift)


def test_a_run_of_several_languages(place, tmp_path):
    given = {"train_data": place / "data", "model": str(place / "encoder"), "batch_size": 4, "language": "en,de"}
    run = train("pos", tuning="features", epochs=1, fuse_layer=1, out=tmp_path / "two", **given)
    with pytest.raises(
        ConfigError, match=r"A shift goes to the language of the training, and .*two was trained on en and de"
    ):
        predict_run(run, place / "data", shift=f"{place / 'means.safetensors'}@2:1")


def test_the_command(place, monkeypatch):
    monkeypatch.chdir(place)
    command = ["evaluate", "features", "--data", "data", "--shift", "means.safetensors@2:1.5", "--resamples", "2"]
    done = CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["run"]["shift"]["alphas"] == {"de": 1.5, "sw": 1.5}
    shown = CliRunner().invoke(app, command, catch_exceptions=False).stdout
    assert "alpha: 1.5 in all languages." in shown
    by_text = ["--shift", "means.safetensors@2:parallel", "--shift-parallel", "de=en-de.tsv", "-l", "en,de"]
    done = CliRunner().invoke(app, [*command[:4], *by_text, "--json", "--resamples", "2"], catch_exceptions=False)
    assert list(json.loads(done.stdout)["run"]["shift"]["tried"]) == ["de"]
    monkeypatch.setattr("dlfa_cli.screen.loading", None)  # what follows is refused before
    done = CliRunner().invoke(app, ["evaluate", "features", "--data", "data", "--shift", "means.safetensors@7:1"])
    assert isinstance(done.exception, ConfigError)
    assert "A shift is at a layer from 1 to 2" in str(done.exception)
