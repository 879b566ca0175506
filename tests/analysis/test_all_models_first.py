"""Analyses of several models: a later one that cannot be used is refused before the first is measured."""

import json
import shutil

import pytest
from transformers.models.bert.modeling_bert import BertEmbeddings
from typer.testing import CliRunner

from dlfa_adapters.analysis.states import in_turn
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning import train
from dlfa_cli.main import app

WORDS = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 4


@pytest.fixture(scope="module")
def runs(tiny_folder, tmp_path_factory):
    """A run, and one whose encoder is another one by now."""
    root = tmp_path_factory.mktemp("runs")
    good = train("ner", train_data=WORDS, language="en", model=str(tiny_folder), tuning="features", epochs=1,
                 out=root / "good").folder  # fmt: skip
    shutil.copytree(good, root / "changed")
    record = json.loads((good / "run.json").read_text("utf-8"))
    record["encoder"]["fingerprint"] = "0"
    (root / "changed" / "run.json").write_text(json.dumps(record), "utf-8")
    return str(good), str(root / "changed")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "texts").mkdir()
    for language in ("en", "de"):
        lines = [f"{language} {a} {b}" for a in "abcdefgh" for b in "abcdefgh"]
        (root / "texts" / f"{language}.txt").write_text("\n".join(lines), "utf-8")
    (root / "en-de.tsv").write_text("a b\tc d\ne f\tg h\n", "utf-8")
    (root / "en-de.txt").write_text("a b\nc d\ne f\n", "utf-8")
    rows = "".join("".join(f"{w}\t{t}\n" for w, t in zip(*each, strict=True)) + "\n" for each in WORDS)
    (root / "en.tsv").write_text(rows, "utf-8")
    return root


@pytest.mark.parametrize(
    "words",
    [
        "language-id --data DATA/texts",
        "cosine --parallel DATA/en-de.tsv",
        "sentences --parallel DATA/en-de.tsv",
        "words --dictionary DATA/en-de.txt",
        "head-probing ner --train DATA/en.tsv --dev DATA/en.tsv",
        "probing --task ner=DATA/en.tsv --dev ner=DATA/en.tsv --model MODEL",
    ],
)
def test_before_any_text_is_read(words, runs, data, tiny_folder, monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)
    typed = words.replace("DATA", str(data)).replace("MODEL", str(tiny_folder)).split()
    monkeypatch.setattr(BertEmbeddings, "forward", lambda *_, **__: 1 / 0)
    done = CliRunner().invoke(app, ["analyze", *typed, *runs])
    with pytest.raises(RunError, match="the encoder found under that name has"):
        raise done.exception


def test_more_heads_than_there_are(runs, data, tiny_folder, monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)
    monkeypatch.setattr(BertEmbeddings, "forward", lambda *_, **__: 1 / 0)
    words = ["head-probing", "ner", runs[0], "--train", f"{data}/en.tsv", "--dev", f"{data}/en.tsv", "--top", "3,99"]
    done = CliRunner().invoke(app, ["analyze", *words])
    with pytest.raises(ConfigError, match="Expected K from 1 to 6, the number of heads, got 99; type --top 3"):
        raise done.exception


def test_each_is_opened_anew_when_its_turn_comes():
    opened, refused = [], []
    ways = [lambda name=name: opened.append(name) or name for name in "abc"]
    given = in_turn(ways, refused.append)
    assert opened == []
    assert next(given) == "a"
    assert opened == refused == ["b", "c", "a"]
    assert [*given] == ["b", "c"]
    assert (opened, [*in_turn([])]) == (["b", "c", "a", "b", "c"], [])
