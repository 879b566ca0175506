"""`dlfa predict`: any text, any source of it, the tags of the process that trained; and clear refusals."""

import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dlfa_adapters.data.words import split_words
from dlfa_adapters.demo import TASTE
from dlfa_adapters.ground.errors import ConfigError
from dlfa_cli.main import app

ODD = [
    "",
    "   ",
    "word " * 3000,
    "👩‍🚀 flew to 🇰🇪 with #Anna @bob !!!",
    "سافرت ليلى إلى القاهرة.",
    "דנה נסעה לחיפה",
    "李明在上海用iPhone。",
    "สมชายไปเชียงใหม่",
    "a\u200bb \u202eevil\u202c \ufeff",
    "x" * 5000,
]


@pytest.fixture
def folder(tiny_run):
    return str(tiny_run.run.folder)


def ask(*arguments, **options):
    return CliRunner().invoke(app, ["predict", *map(str, arguments)], catch_exceptions=False, **options)


def test_tags_equal_those_of_the_process_that_trained(tiny_run, folder):
    texts = list(TASTE.values())
    rows = json.loads(ask(folder, *texts, "--json").stdout)
    assert [row["tags"] for row in rows] == [tags for _, _, tags in tiny_run.taste]
    assert [row["words"] for row in rows] == [split_words(text) for text in texts]


def test_odd_text_gets_a_tag_for_every_word(folder):
    rows = json.loads(ask(folder, *ODD, "--json").stdout)
    assert [row["text"] for row in rows] == ODD
    for text, row in zip(ODD, rows, strict=True):
        assert row["words"] == split_words(text)
        assert len(row["tags"]) == len(row["words"])
        assert [text[start:end] for start, end in row["offsets"]] == row["words"]
        for entity in row["entities"]:
            assert text[entity["start"] : entity["end"]] == entity["text"]
            assert entity["text"].split() == " ".join(entity["words"]).split() or " " not in entity["text"]
    assert [len(row["words"]) for row in rows[:3]] == [0, 0, 3000]


def test_columns_on_the_screen_can_be_read_again(folder):
    out = ask(folder, "Anna met Bob.", "", "Rome").stdout
    first, *_ = blocks = out.split("\n\n")
    assert [line.split("\t")[0] for line in first.split("\n")] == ["Anna", "met", "Bob", "."]
    assert all(line.count("\t") == 1 for block in blocks for line in block.split("\n") if line)


def test_lines_of_a_file_and_of_stdin(folder, tmp_path):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfAnna met Bob.\r\n\r\nRome \xe2\x80\xa8 x")
    from_file = json.loads(ask(folder, "--file", tmp_path / "text", "--json").stdout)
    from_stdin = json.loads(ask(folder, "--json", input="Anna met Bob.\n\nRome \u2028 x\n").stdout)
    assert from_file == from_stdin
    assert [row["text"] for row in from_file] == ["Anna met Bob.", "", "Rome \u2028 x"]
    for dash in (["-"], ["--file", "-"]):
        assert json.loads(ask(folder, *dash, "--json", input="Anna met Bob.\n\nRome \u2028 x\n").stdout) == from_file


def test_a_file_is_no_text(folder, tmp_path):
    (tmp_path / "texts.txt").write_text("Anna met Bob.\n", "utf-8")
    with pytest.raises(ConfigError, match=r"texts\.txt is a file; type --file .*texts\.txt to read its lines\."):
        ask(folder, tmp_path / "texts.txt")


def test_a_language_decides_about_characters(folder):
    (row,) = json.loads(ask(folder, "iOS", "--language", "zh", "--json").stdout)
    assert row["words"] == ["i", "O", "S"]


def refuse(*arguments, **options):
    done = subprocess.run(
        [sys.executable, "-m", "dlfa_cli", "predict", *map(str, arguments)],
        capture_output=True, text=True, timeout=300, **options,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_refusals_are_one_sentence(folder, tmp_path):
    assert "There is no run folder" in refuse(tmp_path / "nothing", "x")
    (tmp_path / "latin1").write_bytes(b"Caf\xe9\n")
    assert "UTF-8" in refuse(folder, "--file", tmp_path / "latin1")
    assert "folder" in refuse(folder, "--file", tmp_path)


@pytest.mark.parametrize("harm", ["missing", "cut", "no weights listed"])
def test_a_harmed_run_is_refused(folder, tmp_path, harm):
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    weights = next((copy / "head").glob("*.safetensors"))
    if harm == "missing":
        weights.unlink()
    elif harm == "cut":
        weights.write_bytes(weights.read_bytes()[:100])
    else:
        (copy / "run.json").unlink()
    assert str(copy) in refuse(copy, "x")


def _set(name, value):
    return lambda config: config.__setitem__(name, value)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda config: config.pop("labels"), "labels"),
        (lambda config: config.pop("encoder"), "encoder"),
        (lambda config: config.pop("head"), "head"),
        (lambda config: config.pop("windows"), "windows"),
        (lambda config: config.pop("task"), "task"),
        (_set("labels", 7), "labels"),
        (_set("labels", ["O", 3]), "labels"),
        (_set("encoder", "offline"), "encoder"),
        (_set("head", {}), "head"),
        (_set("windows", {"stride": 2}), "windows"),
        (_set("windows", {"max_length": "128"}), "windows"),
        (_set("windows", {"max_length": 128, "context": "64"}), "windows"),
        (_set("model", 7), "model"),
        (_set("model", {}), "model"),
        (_set("model", {"saved": "adapters", "adapters": "ner"}), "model"),
        (_set("data", {"train": []}), "data"),
        (_set("data", {"train": {"language": 5}}), "data"),
        (_set("files", {}), "head/head_config.json"),
        (_set("labels", ["O", "B-PER"]), "its labels are not those of head/head_config.json"),
    ],
)
def test_a_run_description_that_was_changed_is_refused(harm, message, tiny_run, tmp_path):
    from dlfa_adapters.ground.errors import RunError
    from dlfa_adapters.predict.load import load_run

    copy = tmp_path / "run"
    shutil.copytree(tiny_run.run.folder, copy)
    config = json.loads((copy / "run.json").read_text("utf-8"))
    harm(config)
    (copy / "run.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(RunError, match=message) as caught:
        load_run(copy)
    assert str(copy) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_description_nested_without_end_is_refused(tmp_path):
    from dlfa_adapters.ground.errors import RunError
    from dlfa_adapters.runs import read_run

    (tmp_path / "run.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(RunError, match="damaged"):
        read_run(tmp_path)


def test_progress_counts_texts(folder, monkeypatch):
    from dlfa_cli import screen

    steps = []

    class Bars:
        def __enter__(self):
            return lambda stage, done, total: steps.append((done, total))

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(screen, "progress_bars", lambda console: Bars())
    ask(folder, "word " * 3000, "", "Rome")
    assert sum(done for done, _ in steps) == 3
    assert {total for _, total in steps} == {3}


def test_another_encoder_under_the_same_name_is_refused(tiny_run, tmp_path, tiny_folder, monkeypatch):
    import torch
    from transformers import BertModel

    from dlfa_adapters.ground.errors import RunError
    from dlfa_adapters.predict.load import load_run
    from dlfa_adapters.runs import read_run

    other = tmp_path / "encoder"
    shutil.copytree(tiny_folder, other)
    torch.manual_seed(1)
    changed = BertModel.from_pretrained(other, add_pooling_layer=False)
    changed.encoder.layer[0].output.dense.weight.data.add_(0.01)
    changed.save_pretrained(other)
    run = read_run(tiny_run.run.folder)
    monkeypatch.setitem(run.config["encoder"], "name", str(other))
    with pytest.raises(RunError, match="fingerprint"):
        load_run(run)
