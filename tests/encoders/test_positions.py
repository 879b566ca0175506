"""An encoder with fewer positions than rows have by default: rows are cut, and a length that was typed is refused."""

import json

import pytest
import torch
from safetensors.torch import load_file
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters.demo import run_demo
from dlfa_adapters.encoders.load import load_encoder
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.positions import most_positions
from dlfa_adapters.ground.errors import ConfigError, DLFAError
from dlfa_adapters.learning import (
    adapt_encoder,
    resume_adaptation,
    resume_language,
    resume_training,
    train,
    train_language,
)
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app
from tests.learning.killed import Killed, killed_at

LONG = " ".join(["Anna met Bob in Rome"] * 8)  # 128 letters, each a piece
TOLD = "max_length is 128, but this encoder has 48 positions; type --max-length 48 (max_length=48)."
CUT_TO = "This encoder has 48 positions, so rows have at most 48 pieces instead of 128."


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An encoder with 48 positions, and text that is longer."""
    place = tmp_path_factory.mktemp("positions")
    save_masked_encoder(place / "encoder", max_position_embeddings=48)
    tagged = [(word, "PROPN" if word[0].isupper() else "NOUN") for word in LONG.split()]
    sentences = (tagged, tagged[:3], tagged[2:5])
    rows = "".join("".join(f"{word}\t{tag}\n" for word, tag in each) + "\n" for each in sentences)
    (place / "data" / "en").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (place / "data" / "en" / f"{split}.tsv").write_text(rows, "utf-8")
    (place / "texts").mkdir()
    for language in ("en", "de"):
        lines = [LONG, *(f"{language} {letter} {other}" for letter in "abcdef" for other in "ghijkl")]
        (place / "texts" / f"{language}.txt").write_text("\n".join(lines) + "\nAnna met\n" * 3, "utf-8")
    pairs = f"{LONG}\t{LONG.lower()}\nin Rome\tin rome\nBob met\tbob met\n"
    (place / "en-de.tsv").write_text(pairs, "utf-8")
    (place / "words.txt").write_text("Anna anna\nRome rome\nBob bob\n", "utf-8")
    return place


def dlfa(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


SAID = {
    "train": ("train", "pos", "--train", "data", "--tuning", "features", "--epochs", 3, "--out", "run"),
    "train lora": ("train", "pos", "--train", "data", "--tuning", "lora", "--epochs", 3, "--out", "run"),
    "sweep": (
        "sweep",
        "pos",
        "--train",
        "data",
        "--seeds",
        1,
        "--epochs",
        1,
        "--head-lr",
        0.01,
        "--no-plots",
        "--out",
        "x",
    ),
    "means": ("analyze", "means", "--text", "en=texts/en.txt", "--out", "means.safetensors"),
    "adapt": ("adapt", "en=texts/en.txt", "--steps", 2, "--batch-size", 4, "--out", "adapted"),
    "language": ("train-language", "en", "--text", "texts/en.txt", "--steps", 2, "--batch-size", 4, "--out", "adapter"),
}


@pytest.mark.parametrize("way", SAID)
def test_a_length_that_was_typed_is_refused(place, way, monkeypatch):
    monkeypatch.chdir(place)
    refused = dlfa(*SAID[way], "--model", "encoder", "--max-length", 128).exception
    assert isinstance(refused, ConfigError)
    assert str(refused) == TOLD


@pytest.mark.parametrize("way", SAID)
def test_by_default_rows_are_as_long_as_the_encoder_takes_and_a_line_says_so(place, way, tmp_path, monkeypatch):
    """The same as if that length had been typed."""
    monkeypatch.chdir(place)
    records = {
        "means": "means.safetensors",
        "language": "language.json",
        "adapt": "adapted.json",
        "sweep": "sweep.json",
    }
    made = {}
    for name, options in (("default", ()), ("typed", ("--max-length", 48))):
        out = tmp_path / name / ("means.safetensors" if way == "means" else "run")
        done = dlfa(*SAID[way][:-2], "--out", out, "--model", "encoder", *options)
        assert done.exit_code == 0, (done.output, done.exception)
        assert (CUT_TO in " ".join(done.stderr.split())) == (name == "default")
        record = out if way == "means" else out / records.get(way, "run.json")
        made[name] = digest_of(record, way)
    assert made["default"] == made["typed"]


def digest_of(record, way):
    """What there is of the length in a record, and of what was learnt."""
    if way == "means":
        means = LanguageMeans.read(record)
        return means.record.max_length, {name: tensor.tolist() for name, tensor in means.tensors.items()}
    told = json.loads(record.read_text("utf-8"))
    if way == "sweep":
        return told["settings"]["max_length"], [head["dev"] for head in told["heads"]]
    files = [name for name in told["files"] if name.endswith(".safetensors")]  # whose metadata has no fixed order
    assert files
    weights = [{name: x.tolist() for name, x in load_file(record.parent / file).items()} for file in files]
    return told["training"]["max_length"], weights


@pytest.mark.parametrize("way", ["train", "adapt", "language"])
def test_a_training_with_the_default_length_can_be_resumed(place, way, tmp_path, monkeypatch):
    """What is written down of it is that none was given."""
    monkeypatch.chdir(place)
    begin, resume = {
        "train": (lambda **o: train("pos", train_data="data", tuning="full", epochs=1, **o), resume_training),
        "adapt": (lambda **o: adapt_encoder({"en": "texts/en.txt"}, steps=2, batch_size=4, **o), resume_adaptation),
        "language": (lambda **o: train_language("en", "texts/en.txt", steps=2, batch_size=4, **o), resume_language),
    }[way]
    with pytest.raises(Killed):
        begin(model="encoder", out=tmp_path / "run", progress=killed_at(0))
    done = resume(tmp_path / "run")
    record = done.config if way == "train" else done.record
    assert record["training"]["max_length"] == 48


CUT = {
    "sentences": ("analyze", "sentences", "--parallel", "en-de.tsv"),
    "cosine": ("analyze", "cosine", "--parallel", "en-de.tsv"),
    "words": ("analyze", "words", "-d", "en-de=words.txt", "--text", "en=texts/en.txt", "--text", "de=texts/de.txt"),
    "probing": ("analyze", "probing", "encoder", "--task", "pos=data", "--layers", 2, "--epochs", 1),
    "head-probing": ("analyze", "head-probing", "pos", "--train", "data", "--epochs", 1, "--top", 2),
    "language-id": ("analyze", "language-id", "--data", "texts", "--epochs", 2),
}


@pytest.mark.parametrize("way", CUT)
def test_rows_of_an_analysis_are_as_long_as_the_encoder_takes(place, way, monkeypatch):
    monkeypatch.chdir(place)
    done = dlfa(*CUT[way], "--model", "encoder", "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout)


def test_the_demo_cuts_rows_too(place, tmp_path):
    run_demo(encoder=str(place / "encoder"), out=tmp_path / "run", epochs=1)
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["windows"]["max_length"] == 48


def test_48_is_enough(place, tmp_path):
    options = {"train_data": place / "data", "model": str(place / "encoder"), "tuning": "features", "epochs": 1}
    run = train("pos", max_length=48, out=tmp_path / "run", **options)
    assert len(load_run(run).predict([LONG.split()])[0]) == 40
    with pytest.raises(DLFAError, match="has 48 positions"):
        train("pos", max_length=49, out=tmp_path / "no", **options)


def test_a_run_that_was_written_with_more_reads_what_fits(place, tmp_path):
    """Trained on short text, it was never told."""
    options = {"train_data": place / "data", "model": str(place / "encoder"), "tuning": "features", "epochs": 1}
    run = train("pos", max_length=48, out=tmp_path / "run", **options)
    record = json.loads((run.folder / "run.json").read_text("utf-8"))
    record["windows"]["max_length"] = 128
    (run.folder / "run.json").write_text(json.dumps(record), "utf-8")
    assert load_run(run.folder).predict([LONG.split()]) == load_run(run).predict([LONG.split()])


def test_positions_of_families(tiny_model, family):
    """As many as can be read, and no more; DeBERTa's are relative, and take any length."""
    model = tiny_model(family, max_position_embeddings=48)
    most = most_positions(model)
    assert most == (None if "deberta" in family else 46 if family in ("roberta", "xlm-roberta", "xmod") else 48)
    model.base_model(torch.full((1, most or 200), 5))
    if most:
        with pytest.raises((IndexError, RuntimeError)):
            model.base_model(torch.full((1, most + 1), 5))


def test_what_an_encoder_says_of_itself(place):
    assert load_encoder(str(place / "encoder")).most_pieces == 48
