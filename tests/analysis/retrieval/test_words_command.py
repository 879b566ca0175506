"""`dlfa analyze words`: which vectors there are, tables, JSON, plot, and what it refuses."""

import json
import re

import pytest
from transformers.models.bert.modeling_bert import BertEmbeddings
from typer.testing import CliRunner

from dlfa_adapters.analysis.retrieval.systems import word_systems
from dlfa_adapters.analysis.retrieval.word2vec import Word2VecOptions
from dlfa_adapters.analysis.retrieval.words import measure_words
from dlfa_adapters.analysis.states import open_encoder
from dlfa_adapters.data.dictionary import read_dictionary
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_cli.main import app

pytest.importorskip("gensim")

ENGLISH = "Anna met Bob\nthe cat and the dog\ncar and cat\ndog in a car\n"
GERMAN = "Anna traf Bob\ndie katze und der hund\nauto und katze\nhund in auto\n"
WORDS = [("cat", "katze"), ("dog", "hund"), ("car", "auto"), ("and", "und"), ("the", "die"), ("the", "der")]
WORDS += [("sea", "meer")]  # no text has it, nor a word that begins with s
LESSON = [("in", "in"), ("Anna", "Anna"), ("met", "traf"), ("Bob", "Bob"), ("cat", "hund")]


@pytest.fixture
def words(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "words", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    for name, text in (
        ("en.txt", ENGLISH * 5),
        ("de.txt", GERMAN * 5),
        ("en-de.txt", "".join(f"{a} {b}\n" for a, b in WORDS)),
        ("en-de.train.txt", "".join(f"{a}\t{b}\n" for a, b in LESSON)),
        ("en-fi.txt", "cat kissa\ndog koira\n"),
        ("en.vec", "".join(f"{word} {i} {i * i} 1\n" for i, word in enumerate(["cat", "dog", "car", "the", "sea"]))),
        ("de.vec", "".join(f"{word} {i} 1 {i}\n" for i, word in enumerate(["katze", "hund", "auto", "die", "meer"]))),
    ):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_every_kind_of_vectors(words, files, tiny_folder):
    done = words(
        "--model", tiny_folder, "-d", files / "en-de.txt", "-d", files / "en-fi.txt", "--text", f"en={files}/en.txt",
        "--text", f"de={files}/de.txt", "--vectors", f"en={files}/en.vec", "--vectors", f"de={files}/de.vec",
        "--word2vec", "--size", 4, "--epochs", 1, "--plot", files / "words.svg", "--at", 2,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    covered = {"alone": 7, "in context": 6, "vectors": 5, "word2vec": 6, "word2vec together": 6}
    for system, pairs in covered.items():
        name = f"{tiny_folder}, {system}" if system in ("alone", "in context") else system
        [row] = [line.split() for line in done.stdout.splitlines() if line.startswith(f"en-de: {name}  ")]
        assert [int(cell) for cell in row[-2:]] == [pairs, 4], row  # cat, dog, car and one translation of the
    assert "P@2" in done.stdout
    assert "Not in the means: en-fi" in done.stdout
    drawn = (files / "words.svg").read_text("utf-8")
    assert f"{tiny_folder}, in context: " in drawn
    assert "word2vec together: " in drawn


def test_as_json_with_a_map(words, files, tiny_folder):
    lesson = files / "en-de.train.txt"
    done = words("--model", tiny_folder, "-d", files / "en-de.txt", "--train-dictionary", lesson, "--json")
    told = json.loads(done.stdout)
    [retrieval], [coverage] = told["retrievals"], told["coverage"]
    assert (coverage["pairs"], coverage["measured"], coverage["learnt_on"]) == (7, 7, 4)  # cat is looked for
    assert [row["order"] for row in retrieval["scores"]][:6] == [
        "cosine",
        "csls",
        "centred cosine",
        "centred csls",
        "mapped cosine",
        "mapped csls",
    ]
    asked, lessons = read_dictionary(files / "en-de.txt"), read_dictionary(lesson)
    needed = {x: list(dict.fromkeys(asked.words(i) + lessons.words(i))) for i, x in enumerate(("en", "de"))}
    direct = measure_words(word_systems(needed, models=[open_encoder(str(tiny_folder))]), [asked], [lessons])
    assert retrieval == json.loads(json.dumps(direct.retrievals[0].to_dict()))
    assert set(retrieval["scores"][0]) == {"system", "state", "order", "mrr", "p@1", "p@5", "p@10"}


def test_static_vectors_alone_need_no_model(words, files):
    done = words(
        "-d", files / "en-de.txt", "--text", f"en={files}/en.txt", "--text", f"de={files}/de.txt", "--word2vec",
        "--size", 4, "--epochs", 1, "--json",
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert {row["system"] for row in told["retrievals"][0]["scores"]} == {"word2vec"}
    assert {row["state"] for row in told["retrievals"][0]["scores"]} == {"vector"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "offline"], "add --dictionary FILE"),
        (["-d", "EN-DE"], "run folders, --model offline, --vectors or --word2vec"),
        (["-d", "EN-DE", "--word2vec"], "add --text LANGUAGE=FILE"),
        (["-d", "EN-DE", "--model", "offline", "--text", "en.txt"], "--text expects LANGUAGE=FILE, got 'en.txt'"),
        (["-d", "EN-DE", "--vectors", "en=a", "--vectors", "en=b"], "--vectors names en twice: a and b"),
        (["-d", "EN-DE", "--vectors", "fr=a"], "text or vectors of de, en, .* got fr"),
        (["-d", "EN-DE", "--vectors", "en=no.vec"], r"no\.vec: expected a file"),
        (["-d", "no.txt", "--model", "offline"], r"no\.txt"),
        (["-d", "EN-DE", "--model", "offline", "--plot", "x.jpg"], r"ends in \.svg, \.png, \.pdf, got x\.jpg"),
        (["nothing", "-d", "EN-DE"], "no run folder nothing"),
        (
            ["-d", "EN-DE", "--vectors", "en=EN.VEC", "--vectors", "de=WIDE.VEC"],
            r"expected vectors of one width .* got 3 numbers a word in .*en\.vec, 2 numbers a word in .*wide\.vec",
        ),
        (["-d", "EN-DE", "--model", "MODEL", "--text", "de=EMPTY.TXT"], r"empty\.txt: expected text in de, a line a"),
    ],
)
def test_what_the_command_refuses(words, files, tiny_folder, arguments, message, monkeypatch):
    monkeypatch.setattr(BertEmbeddings, "forward", lambda *_, **__: 1 / 0)
    (files / "wide.vec").write_text("katze 1 2\nhund 2 1\n", "utf-8")
    (files / "empty.txt").write_text("\n \n", "utf-8")
    places = {name.upper(): str(files / name) for name in ("en.vec", "wide.vec", "empty.txt")}
    places |= {"EN-DE": str(files / "en-de.txt"), "MODEL": str(tiny_folder)}
    done = words(*(re.sub("[A-Z]{2,}[-.A-Z]*", lambda match: places[match[0]], each) for each in arguments))
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError, RunError), match=message):
        raise done.exception


def test_each_model_once(tiny_folder):
    opened = open_encoder(str(tiny_folder))
    with pytest.raises(ConfigError, match="each model once"):
        word_systems({"en": ["cat"]}, models=[opened, opened])
    with pytest.raises(ConfigError, match="is trained on text"):
        word_systems({"en": ["cat"]}, word2vec=Word2VecOptions())
