"""`dlfa predict` with runs that label whole texts or pairs of texts: a label and its probability for each."""

import json

import pytest
import torch

from dlfa_adapters.data.pairs import split_pairs
from dlfa_adapters.ground.errors import DataError
from tests.cli.test_predict import ask, refuse
from tests.predict.test_evaluate_cli import make_run, xnli_run  # noqa: F401

PAIRS = ["A bird sings.\tBirds sing.", "the cat sat\ta dog", "no\t" + "yes " * 40]


@pytest.fixture(scope="session")
def topic_run(make_run):  # noqa: F811
    return make_run("topic")


@torch.no_grad()
def probabilities(trained, *texts):
    """Of each label, one text or pair at a time."""
    inputs = trained.tokenizer(*texts, truncation=True, max_length=trained.max_length, return_tensors="pt")
    return trained.model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits[0].softmax(-1)


def test_pairs_get_a_label_and_its_probability(xnli_run):  # noqa: F811
    folder, trained = xnli_run
    rows = [line.split("\t") for line in ask(folder, *PAIRS).stdout.splitlines()]
    wanted = [probabilities(trained, *pair.split("\t")) for pair in PAIRS]
    assert [label for label, _ in rows] == [trained.labels[row.argmax()] for row in wanted]
    assert [float(shown) for _, shown in rows] == pytest.approx([float(row.max()) for row in wanted], abs=6e-4)
    assert len({label for label, _ in rows} | {shown for _, shown in rows}) > 2  # not one answer to everything


def test_json_has_the_probability_of_every_label(topic_run, xnli_run):  # noqa: F811
    folder, trained = topic_run
    [row] = json.loads(ask(folder, "one\ttwo", "--json").stdout)
    assert row.keys() == {"text", "label", "probability", "probabilities"}
    assert row["text"] == "one\ttwo"  # a single text may have a TAB
    assert list(row["probabilities"]) == trained.labels
    assert list(row["probabilities"].values()) == pytest.approx(probabilities(trained, "one\ttwo").tolist(), abs=1e-5)
    assert row["probability"] == max(row["probabilities"].values()) == row["probabilities"][row["label"]]
    [pair] = json.loads(ask(xnli_run[0], PAIRS[0], "--json").stdout)
    assert (pair["text"], pair["text_pair"]) == tuple(PAIRS[0].split("\t"))


def test_lines_of_a_file_and_of_stdin(xnli_run, tmp_path):  # noqa: F811
    lines = "\n".join(PAIRS) + "\n"
    (tmp_path / "pairs").write_text(lines, "utf-8")
    wanted = ask(xnli_run[0], *PAIRS).stdout
    assert wanted.count("\n") == 3
    assert ask(xnli_run[0], "--file", tmp_path / "pairs").stdout == wanted
    assert ask(xnli_run[0], input=lines).stdout == wanted


def test_lines_of_a_labelled_file_are_no_texts(xnli_run, topic_run, tmp_path):  # noqa: F811
    """The label would be read as a part of the text."""
    labelled, pairs = tmp_path / "test.tsv", tmp_path / "pairs.tsv"
    labelled.write_text("text\tlabel\nA bird sings.\tscience/technology\nThe sea.\ttravel\n", "utf-8")
    told = refuse(topic_run[0], "--file", labelled)
    assert "behind every one stands a TAB and a label of the run; to score them type dlfa evaluate" in told
    assert f"--data {labelled}, or give the texts alone." in told
    pairs.write_text("a\tb\tneutral\nc\td\tentailment\n", "utf-8")
    assert "a label of the run" in refuse(xnli_run[0], "--file", pairs)
    pairs.write_text("a\tneutral\nc\tentailment\n", "utf-8")
    assert ask(xnli_run[0], "--file", pairs).stdout.count("\n") == 2
    labelled.write_text("A bird sings.\ttravel\nThe sea.\tfar\n", "utf-8")
    assert ask(topic_run[0], "--file", labelled).stdout.count("\n") == 2


def test_a_text_where_a_pair_is_expected(xnli_run):  # noqa: F811
    told = refuse(xnli_run[0], PAIRS[0], "no TAB")
    assert "text 2: expected a pair: two texts with a TAB between them, but got 1: 'no TAB'" in told


def test_texts_of_a_task_that_is_not_known_are_pairs_where_they_have_tabs():
    assert split_pairs(["a b", "c"]) == (["a b", "c"], None)
    assert split_pairs(["a\tb", "c\t"]) == (["a", "c"], ["b", ""])
    assert split_pairs(["a\tb"], pair=False) == (["a\tb"], None)
    for texts in (["a\tb", "c"], ["a\tb", "c\td\te"]):
        with pytest.raises(DataError, match="text 2: expected a pair"):
            split_pairs(texts)
    assert split_pairs([], pair=True) == ([], [])
