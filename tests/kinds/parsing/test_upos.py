"""Parts of speech that a parser reads: the data's own, another column's, a tagger's; and what lacks them."""

import json

import pytest
from typer.testing import CliRunner

import dlfa_adapters
from dlfa_adapters.data.readers import read_conllu
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.kinds.parsing.tree import check_tree
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_cli.main import app
from tests.kinds.parsing.treebank import OPTIONS, conllu, sentences, toy_treebanks


def ask(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return toy_treebanks(tmp_path_factory.mktemp("ud"))


@pytest.fixture(scope="module")
def start(data, tiny_folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")

    def run(task, name, **options):
        given = {"train_data": data, "model": str(tiny_folder), "tuning": "full", "max_steps": 30}
        return train(task, out=root / name, **{**given, **OPTIONS, **options})

    return run


@pytest.fixture(scope="module")
def tagger(start):
    return start("pos", "pos")


@pytest.fixture(scope="module")
def with_gold(start):
    return start("parse", "gold", upos="gold")


@pytest.fixture(scope="module")
def with_tagger(start, tagger):
    return start("parse", "tagged", upos=str(tagger.folder))


def head_of(run):
    return json.loads((run.folder / "head" / "head_config.json").read_text())["config"]


WORDS = [[word for word, *_ in each] for each in sentences(8, seed=11)]
UPOS = [[upos for _, upos, *_ in each] for each in sentences(8, seed=11)]


def test_gold_parts_of_speech_are_read(with_gold, data, start):
    assert with_gold.config["options"] == {"upos": "gold"}
    assert head_of(with_gold)["upos_size"] == 100
    parser = load_run(with_gold)
    parsed = parser.predict(WORDS, UPOS)
    others = parser.predict(WORDS, [["X"] * len(each) for each in WORDS])
    assert parsed != others  # it does read them
    report = dlfa_adapters.evaluate(with_gold, data, split="dev", out=with_gold.folder.parent / "dev", resamples=10)
    value = report.table.languages[0].scores["las"].value
    assert 100 * value == pytest.approx(with_gold.config["metrics"]["dev"]["en"], abs=1e-3)
    assert start("parse", "sized", upos_size=6).config["options"] == {"upos": "gold"}


def test_a_tagger_says_them(with_tagger, tagger, data):
    assert with_tagger.config["options"] == {"upos": str(tagger.folder)}
    tags = load_run(tagger).predict(WORDS)
    parser = load_run(with_tagger)
    parsed = parser.predict(WORDS)
    assert parsed == load_run(with_tagger, options={"upos": "gold"}).predict(WORDS, tags)
    assert parsed == parser.predict(WORDS, UPOS)  # those of the data do not matter
    assert all(check_tree(arcs) is None for arcs in parsed)
    report = dlfa_adapters.evaluate(with_tagger, data, split="dev", out=tagger.folder.parent / "dev", resamples=10)
    value = report.table.languages[0].scores["las"].value
    assert 100 * value == pytest.approx(with_tagger.config["metrics"]["dev"]["en"], abs=1e-3)


def test_a_tagger_takes_the_place_of_gold(with_gold, tagger, data, tmp_path):
    """In Python and on the command line; and gold stays what words are counted by."""
    [english] = predict_run(with_gold, data, languages=["en"]).languages
    [tagged] = predict_run(with_gold, data, languages=["en"], options={"upos": str(tagger.folder)}).languages
    assert tagged.gold == english.gold
    assert tagged.inputs == english.inputs
    words = [list(each.words) for each in tagged.inputs]
    assert tagged.predicted == load_run(with_gold).predict(words, load_run(tagger).predict(words))
    answered = ask("evaluate", with_gold.folder, "--data", data, "--upos", tagger.folder, "--resamples", 10, "--json")
    told = json.loads(answered.stdout)
    assert told["run"]["options"] == {"upos": str(tagger.folder)}
    right = sum(
        a.head == b.head for x, y in zip(tagged.gold, tagged.predicted, strict=True) for a, b in zip(x, y, strict=True)
    )
    scores = {row["language"]: row["scores"] for row in told["languages"]}
    assert scores["en"]["uas"]["value"] == pytest.approx(right / sum(map(len, words)))


def test_text_gets_the_tags_of_the_tagger(with_tagger, with_gold, tagger, tmp_path):
    answered = ask("predict", with_tagger.folder, "the cat sees a dog.")
    (tmp_path / "out.conllu").write_text(answered.stdout, "utf-8")
    [tree] = read_conllu(tmp_path / "out.conllu").items
    assert [tree.tags] == load_run(tagger).predict([tree.words])
    refused = ask("predict", with_gold.folder, "the cat")
    assert "'the' of sentence 0 (counted from 0) has '_'" in str(refused.exception)
    assert ask("predict", with_gold.folder, "--upos", tagger.folder, "the cat").exit_code == 0
    given = tmp_path / "in.conllu"
    given.write_text(conllu(sentences(3, seed=5)).replace("NOUN", "INTJ"), "utf-8")  # which the tagger never says
    (tmp_path / "kept.conllu").write_text(ask("predict", with_tagger.folder, "--file", given).stdout, "utf-8")
    kept = [tree.tags for tree in read_conllu(tmp_path / "kept.conllu").items]
    assert kept == [tree.tags for tree in read_conllu(given).items]  # what stands there is not overwritten


def test_compare_takes_a_tagger_for_the_parsers_that_read_parts_of_speech(with_gold, tagger, start, data, tmp_path):
    plain = start("parse", "words", max_steps=20)
    options = ["--data", data, "--languages", "en", "--resamples", 50]
    answered = ask("compare", plain.folder, with_gold.folder, *options, "--upos", tagger.folder, "--json")
    told = json.loads(answered.stdout)
    [english] = told["languages"]
    assert str(tagger.folder) in json.dumps(told["about_b"])
    assert str(tagger.folder) not in json.dumps(told["about_a"])
    [alone] = predict_run(plain, data, languages=["en"]).languages
    [tagged] = predict_run(with_gold, data, languages=["en"], options={"upos": str(tagger.folder)}).languages
    words = sum(map(len, tagged.gold))
    for side, found in (("a", alone), ("b", tagged)):
        right = sum(
            x.head == y.head
            for gold, guess in zip(found.gold, found.predicted, strict=True)
            for x, y in zip(gold, guess, strict=True)
        )
        assert english["scores"]["uas"][side] == pytest.approx(right / words)
    refused = ask("compare", plain.folder, plain.folder, *options, "--upos", tagger.folder)
    assert "was trained without upos, so it reads none" in str(refused.exception)
    saved = tmp_path / "saved"
    dlfa_adapters.evaluate(plain, data, out=saved, resamples=10)
    refused = ask("compare", saved, saved, "--upos", tagger.folder)
    assert "leave --upos out, or give two run folders and --data" in str(refused.exception)


def test_another_column_may_hold_them(with_gold, data, tmp_path):
    lines = [line.split("\t") for line in conllu(sentences(6, seed=12)).split("\n")]
    moved = [[*row[:3], "X", row[3], *row[5:]] if len(row) == 10 and row[0].isdigit() else row for row in lines]
    path = tmp_path / "en_toy-ud-test.conllu"
    path.write_text("\n".join("\t".join(row) for row in moved), "utf-8")
    [one] = predict_run(with_gold, path, tag_column="xpos").languages
    words, read = zip(*one.inputs, strict=True)
    assert one.predicted == load_run(with_gold).predict(words, read)
    assert {name for each in one.inputs for name in each.upos} >= {"DET", "NOUN", "VERB"}
    assert {arc.upos for arcs in one.gold for arc in arcs} == {"X"}


def test_what_cannot_be_is_one_sentence(with_gold, with_tagger, tagger, start, data, tmp_path, tiny_folder):
    with pytest.raises(ConfigError, match="upos_size=0 reads no parts of speech"):
        start("parse", "none", upos="gold", upos_size=0)
    with pytest.raises(RunError, match="nowhere"):
        start("parse", "nowhere", upos="nowhere")
    with pytest.raises(ConfigError, match=r"needs a tagger of universal parts of speech .*; this one says acl"):
        start("parse", "itself", upos=str(with_gold.folder))
    plain = start("parse", "plain", max_steps=1)
    with pytest.raises(ConfigError, match="was trained without upos, so it reads none"):
        predict_run(plain, data, options={"upos": "gold"})
    with pytest.raises(ConfigError, match="A run for tagging has no option 'upos'"):
        predict_run(tagger, data, options={"upos": "gold"})
    with pytest.raises(DataError, match=r"'a' of sentence 0 .counted from 0. has 'NN'; name the run of a tagger"):
        load_run(with_gold).predict([["a"]], [["NN"]])
    moved = tagger.folder.rename(tagger.folder.with_name("moved"))
    try:
        with pytest.raises(RunError, match="pos"):
            load_run(with_tagger)
        assert load_run(with_tagger, options={"upos": str(moved)}).predict([["a"]])
    finally:
        moved.rename(tagger.folder)
