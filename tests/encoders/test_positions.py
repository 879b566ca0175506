"""An encoder with fewer positions than a row may have: refused where the length can be said, otherwise rows are cut."""

import json

import pytest
import torch
from tiny_masked import save_masked_encoder
from typer.testing import CliRunner

from dlfa_adapters.demo import run_demo
from dlfa_adapters.encoders.load import load_encoder
from dlfa_adapters.encoders.parts import most_positions
from dlfa_adapters.ground.errors import ConfigError, DLFAError
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app

LONG = " ".join(["Anna met Bob in Rome"] * 8)  # 128 letters, each a piece
TOLD = "max_length is 128, but this encoder has 48 positions; type --max-length 48 (max_length=48)."


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
    "train": ("train", "pos", "--train", "data", "--tuning", "features", "--out", "run"),
    "train lora": ("train", "pos", "--train", "data", "--tuning", "lora", "--out", "run"),
    "sweep": ("sweep", "pos", "--data", "data", "--out", "sweep", "--epochs", 1),
    "means": ("analyze", "means", "--text", "en=texts/en.txt", "--out", "means.safetensors"),
}


@pytest.mark.parametrize("way", SAID)
def test_a_length_that_can_be_changed_is_refused(place, way, monkeypatch):
    monkeypatch.chdir(place)
    refused = dlfa(*SAID[way], "--model", "encoder").exception
    assert isinstance(refused, ConfigError)
    assert str(refused) == TOLD


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
