"""Parsers as runs: trained, evaluated, compared, shown and asked; everything against the files that were read."""

import json
import re

import pytest
from typer.testing import CliRunner

import dlfa_adapters
from dlfa_adapters.data.readers import read_conllu
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds.parsing import Parsing
from dlfa_adapters.kinds.parsing.tree import Arc
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.report import write_report
from dlfa_adapters.scores.compare import compare
from dlfa_adapters.scores.saved import read_evaluation
from dlfa_cli.main import app
from tests.kinds.parsing.treebank import OPTIONS, conllu, rows_of, sentences, toy_treebanks


def ask(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return toy_treebanks(tmp_path_factory.mktemp("ud"))


@pytest.fixture(scope="module")
def run(data, tiny_folder, tmp_path_factory):
    """A parser that has learned the grammar."""
    out = tmp_path_factory.mktemp("runs") / "parse"
    return train(
        "parse", train_data=data, model=str(tiny_folder), tuning="full", out=out, epochs=15, max_length=40, **OPTIONS
    )


def by_hand(path, predicted):
    """Attachment of predicted trees, counted from the lines of the gold file: LAS and UAS, all and without PUNCT."""
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if re.match(r"\d+\t", line)]
    guesses = [arc for arcs in predicted for arc in arcs]
    assert len(rows) == len(guesses)
    words = [
        (row[3], int(row[6]) == arc.head, row[7].split(":")[0] == arc.deprel.split(":")[0])
        for row, arc in zip(rows, guesses, strict=True)
    ]

    def share(of):
        return sum(map(all, of)) / len(of)

    kept = [word for word in words if word[0] != "PUNCT"]
    return {
        "las": share([word[1:] for word in words]),
        "uas": share([word[1:2] for word in words]),
        "las_nopunct": share([word[1:] for word in kept]),
        "uas_nopunct": share([word[1:2] for word in kept]),
    }


def test_a_parser_learns_a_grammar_and_says_what_it_is(run, data):
    assert run.config["metrics"]["name"] == "las"
    assert run.config["metrics"]["dev"]["en"] > 60
    assert run.config["labels"][:3] == ["acl", "advcl", "advmod"]
    assert run.config["windows"] == {"max_length": 128, "context": 64, "pooling": "first"}
    assert run.config["training"]["max_length"] == 40
    assert run.config["data"]["train"]["items"] == 60
    assert "options" not in run.config
    dev = dlfa_adapters.evaluate(run, data, split="dev", out=run.folder.parent / "dev", resamples=10)
    [language] = dev.table.languages
    assert 100 * language.scores["las"].value == pytest.approx(run.config["metrics"]["dev"]["en"], abs=1e-3)


def test_every_gold_word_is_scored_and_scores_are_those_counted_by_hand(run, data, tmp_path):
    report = dlfa_adapters.evaluate(run, data, out=tmp_path / "test", resamples=10)
    assert [row.language for row in report.table.languages] == ["de", "en"]
    assert [mean.name for mean in report.table.means] == ["targets", "all", "enf_family"]
    saved = read_evaluation(tmp_path / "test")
    for row, predicted in zip(report.table.languages, saved.languages, strict=True):
        [file] = data.glob(f"*/{row.language}_toy-ud-test.conllu")
        gold = read_conllu(file).items
        words = sum(len(tree.words) for tree in gold)
        assert row.words_total == row.words_scored == row.support == words
        scores = by_hand(file, predicted.predicted)
        assert {name: each.value for name, each in row.scores.items()} == pytest.approx(scores)
        assert row.unknown_gold_labels == {}
        assert [list(map(Arc, tree.heads(), tree.deprels(), tree.tags)) for tree in gold] == predicted.gold
        assert [tree.id for tree in gold] == predicted.ids
    assert report.table.languages[1].scores["uas"].value > 0.6


def test_a_saved_evaluation_gives_its_predictions_back(run, data, tmp_path):
    predictions = predict_run(run, data)
    dlfa_adapters.evaluate(run, data, out=tmp_path / "saved", resamples=10)
    for before, after in zip(predictions.languages, read_evaluation(tmp_path / "saved").languages, strict=True):
        assert (after.ids, after.own_ids) == (before.ids, True)
        assert after.inputs == before.inputs
        assert after.gold == before.gold
        assert after.fingerprint() == before.fingerprint()
        plain = [[arc[:2] for arc in arcs] for arcs in before.predicted]
        assert [[arc[:2] for arc in arcs] for arcs in after.predicted] == plain
    for file in (tmp_path / "saved" / "predictions").iterdir():
        for tree in read_conllu(file).items:
            assert tree.wrong == ""


def test_two_parsers_are_compared_on_the_same_words(run, data, tmp_path, tiny_folder):
    other = train(
        "parse", train_data=data, model=str(tiny_folder), tuning="lora", out=tmp_path / "b", max_steps=2, **OPTIONS
    )
    ours, theirs = predict_run(run, data), predict_run(other, data)
    comparison = compare(ours, theirs, resamples=50)
    for row, a, b in zip(comparison.languages, ours.languages, theirs.languages, strict=True):
        file = next(data.glob(f"*/{row.title}_toy-ud-test.conllu"))
        difference = by_hand(file, b.predicted)["las"] - by_hand(file, a.predicted)["las"]
        assert row.scores["las"].difference == pytest.approx(difference)
    assert list(comparison.titles) == ["las", "uas", "las_nopunct", "uas_nopunct"]


def test_the_page_draws_right_and_wrong_arcs(run, data, tmp_path):
    dlfa_adapters.evaluate(run, data, out=tmp_path / "page", resamples=10)
    html = write_report(tmp_path / "page").read_text("utf-8")
    predicted = {each.language: each for each in read_evaluation(tmp_path / "page").languages}
    drawn = re.findall(r'<svg [^>]*class="tree".*?</svg>', html, re.DOTALL)
    assert len(drawn) == html.count('<div class="drawing" dir="ltr" role="region"') > 5
    pairs = [pair for each in predicted.values() for pair in zip(each.gold, each.predicted, strict=True)]
    assert not all(Parsing().are_right(*zip(*pairs, strict=True)))
    assert any('class="gold"' in svg for svg in drawn)
    assert "Arcs go from heads to dependents." in html
    assert "nsubj</th>" in html.split("Confusion</h3>")[1].split("Examples</h3>")[0]


def test_predicting_conllu_keeps_all_but_heads_and_relations(run, data, tmp_path):
    text = conllu(sentences(5, seed=8)).replace("# sent_id = s1", "# sent_id = s1\n# text = any\n#x")
    given = tmp_path / "in.conllu"
    given.write_text(re.sub(r"(?m)^(\d+\t(?:[^\t]*\t){5})[^\t]*\t[^\t]*", r"\1_\t_", text), "utf-8")
    result = ask("predict", run.folder, "--file", given)
    assert result.exit_code == 0, result.output
    out, before = result.stdout.split("\n"), given.read_text("utf-8").split("\n")
    assert len(out) == len(before) + 0
    for line, old in zip(out, before, strict=True):
        now, then = line.split("\t"), old.split("\t")
        assert now[:6] + now[8:] == then[:6] + then[8:]
        assert (now == then) == (not re.match(r"\d+\t", old))
    (tmp_path / "out.conllu").write_text(result.stdout, "utf-8")
    trees = read_conllu(tmp_path / "out.conllu").items
    words = [tree.words for tree in trees]
    assert [tree.wrong for tree in trees] == [""] * 5
    arcs = load_run(run).predict(words)
    assert [list(map(Arc, tree.heads(), tree.deprels())) for tree in trees] == arcs


def test_predicting_text_writes_conllu_whose_text_is_the_line(run, tmp_path):
    result = ask("predict", run.folder, "the cat,  sees a dog.", " ", "the fox's hen (sees) Łódź!")
    assert result.exit_code == 0, result.output
    (tmp_path / "out.conllu").write_text(result.stdout, "utf-8")
    trees = read_conllu(tmp_path / "out.conllu").items
    assert [tree.comments[1] for tree in trees] == [
        "# text = the cat, sees a dog.",
        "# text = the fox's hen (sees) Łódź!",
    ]
    for tree in trees:
        assert tree.wrong == ""
        spaced = [node[1] + ("" if node[9] == "SpaceAfter=No" else " ") for node in tree.nodes]
        assert f"# text = {''.join(spaced).strip()}" == tree.comments[1]
    [answer, _] = json.loads(ask("predict", run.folder, "--json", "a cat sees", "a").stdout)
    assert (answer["words"], len(answer["heads"]), answer["heads"].count(0)) == (["a", "cat", "sees"], 3, 1)
    assert "\t".join(["3", "sees"]) in answer["conllu"]


def test_trees_that_a_page_can_show_come_first():
    kind = Parsing()
    words = {count: kind.inputs({"words": [["a"] * count], "upos": [["X"] * count]})[0] for count in (1, 2, 30, 31)}
    assert [count for count, each in words.items() if kind.is_telling(each, [], [])] == [2, 30]
    arabic = kind.inputs({"words": [["كتب", "محمد"]], "upos": [["VERB", "PROPN"]]})[0]
    [line] = kind.lines(arabic, [Arc(0, "root"), Arc(1, "nsubj")], [Arc(0, "root"), Arc(1, "obj")], "ar")
    assert (line.direction, line.drawing[:4]) == ("rtl", "<svg")


BAD = {
    "2 roots": ([("a", "X", 0, "root"), ("b", "X", 0, "root")], "line 3: expected one word with head 0"),
    "a cycle": ([("a", "X", 2, "x"), ("b", "X", 1, "x"), ("c", "X", 0, "root")], "line 2: expected heads that lead to"),
    "no head": ([("a", "X", "_", "x"), ("b", "X", 0, "root")], "line 2: expected a head in column 7"),
    "outside": ([("a", "X", 3, "x"), ("b", "X", 0, "root")], "line 2: expected a head in 0..2"),
}


@pytest.mark.parametrize("what", BAD)
def test_gold_that_is_no_tree_is_refused_with_file_and_line(what, run, tmp_path, tiny_folder):
    words, message = BAD[what]
    path = tmp_path / "en_bad-ud-test.conllu"
    path.write_text("\n".join(["# text = x", *rows_of(words), ""]) + "\n", "utf-8")
    told = re.escape(f"{path}, {message}")
    with pytest.raises(DataError, match=told):
        train("parse", train_data=path, model=str(tiny_folder), tuning="lora", out=tmp_path / "run")
    with pytest.raises(DataError, match=told):
        dlfa_adapters.evaluate(run, path, out=tmp_path / "evaluated")


def test_what_parsing_cannot_do_is_one_sentence(data, tiny_folder, tmp_path):
    given = {"train_data": data, "model": str(tiny_folder), "out": tmp_path / "run"}
    with pytest.raises(ConfigError, match="training for tagging has no option 'arc_size'"):
        train("ner", tuning="lora", arc_size=4)
    words = tmp_path / "train-en.tsv"
    words.write_text("a\tB-PER\n\n", "utf-8")
    with pytest.raises(DataError, match="expected data for parse, a parsing task"):
        train("parse", tuning="lora", **{**given, "train_data": words})


def test_lists_of_heads_are_data_too(run, tmp_path):
    rows = [
        {"words": ["a", "b"], "heads": [2, 0], "deprels": ["det", "root"], "upos": ["DET", "PUNCT"]},
        {"tokens": ["c"], "head": ["0"], "deprel": ["root"]},
    ]
    report = dlfa_adapters.evaluate(run, rows, languages=["en"], out=tmp_path / "lists", resamples=10)
    [row] = report.table.languages
    assert (row.words_total, row.details["las"]["support_nopunct"], row.details["las"]["without_upos"]) == (3, 1, 1)
    assert read_evaluation(tmp_path / "lists").languages[0].gold == [
        [Arc(2, "det", "DET"), Arc(0, "root", "PUNCT")],
        [Arc(0, "root", "_")],
    ]
    for wrong, message in (
        ({"heads": [1, 0]}, "item 0: expected another word as the head of word 1"),
        ({"heads": [3, 0]}, "item 0: expected a head in 0..2, but got 3"),
        ({"heads": [0]}, "item 0: expected a head for each of 2 words"),
        ({"deprels": None}, "item 0: expected a relation for each of 2 words"),
    ):
        with pytest.raises(DataError, match=message):
            dlfa_adapters.evaluate(run, [{**rows[0], **wrong}], out=tmp_path / "bad")
