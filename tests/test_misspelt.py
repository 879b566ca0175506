"""Typing errors in labels: named where they are rare beside what they look like, and nothing else is."""

import itertools
import logging
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.dataset import task_for
from dlfa_adapters.tasks.misspelt import meant, misspelt, one_slip
from dlfa_adapters.tasks.span_tags import find_span_tags


@pytest.mark.parametrize(
    ("a", "b"),
    [("LCO", "LOC"), ("PRE", "PER"), ("LOCC", "LOC"), ("postive", "positive"), ("MOSC", "MISC"), ("xLOC", "LOC"),
     ("DATEE", "DATE"), ("L0CATION", "LOCATION"), ("abcd", "bacd"), ("abcd", "abdc")],
)  # fmt: skip
def test_one_typing_error(a, b):
    assert one_slip(a, b)
    assert one_slip(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [("LOC", "LOC"), ("DNA", "RNA"), ("LO", "LOC"), ("star1", "star2"), ("star1", "star"), ("v12", "v21"), ("", "A"),
     ("LOC", "COL"), ("LOC", "LOCAL"), ("abcd", "badc"), ("abcd", "cbad"), ("MISC", "MOSK")],
)  # fmt: skip
def test_no_typing_error(a, b):
    assert not one_slip(a, b)
    assert not one_slip(b, a)


def edits(word):
    """All that is one typing error away, by writing each of them."""
    letters = string.ascii_lowercase
    for i in range(len(word) + 1):
        yield from (word[:i] + letter + word[i:] for letter in letters)
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
        yield from (word[:i] + letter + word[i + 1 :] for letter in letters if len(word) > 3)
    for i in range(len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]


@given(st.text("abc", min_size=3, max_size=6), st.text("abc", min_size=3, max_size=6))
def test_it_is_what_writing_each_error_gives(a, b):
    assert one_slip(a, b) == (a != b and b in set(edits(a)))


def test_types_are_compared_over_their_prefixes():
    counts = {"O": 4000, "B-LOC": 990, "I-LOC": 10, "B-LCO": 1, "I-LCO": 1, "B-PER": 500, "B-PRE": 26}
    spans = find_span_tags(counts)
    assert misspelt(counts, spans) == {"B-LCO": "B-LOC", "I-LCO": "I-LOC"}  # B-PER is not 20 times B-PRE
    assert misspelt({**counts, "B-PRE": 25}, spans)["B-PRE"] == "B-PER"
    assert misspelt({"O": 9, "B": 90, "I": 1}, find_span_tags({"O": 9, "B": 90, "I": 1})) == {}


def test_the_most_frequent_one_is_meant():
    for good, wood in ((40, 60), (60, 40)):
        assert misspelt({"good": good, "wood": wood, "food": 1}) == {"food": "good" if good > wood else "wood"}


def test_what_is_no_tag_of_a_span_has_no_type():
    counts = {"O": 400, "B-LOC": 90, "B_LCO": 1, "LCO": 1}
    assert misspelt(counts, find_span_tags(counts)) == {}


def test_labels_of_a_known_task_are_meant():
    counts = {"PROPN": 200, "PRON": 1, "ADJ": 90, "ADP": 1, "PRONN": 1}
    assert misspelt(counts) == {"PRONN": "PROPN"}  # of both it is one slip away, and PRON is rare itself


def test_a_thousand_labels_are_compared_in_no_time():
    words = ["".join(letters) for letters in itertools.product("abcdefghij", repeat=4)]
    counts = {word: 1 for word in words} | {"abcdxyz": 20, "abcdxzy": 1}
    assert misspelt(counts) == {"abcdxzy": "abcdxyz"}


TEXT = "She\tO\nmet\tO\nAnna\tB-PER\nBerg\tI-PER\nin\tO\nLima\tB-LOC\n\n" * 25


def test_a_typing_error_in_tags_is_named_by_check_and_by_all_that_reads(tmp_path, caplog):
    path = tmp_path / "train-en.tsv"
    path.write_text(TEXT + "To\tO\nRome\tB-LCO\n", "utf-8")
    said = "the label 'B-LCO' (1 word, line 177) looks like 'B-LOC' (25 words) with a typing error; correct the file"
    [problem] = [problem for problem in check_data(path).problems if problem.kind == "slip"]
    assert said in problem.message
    assert (problem.level, problem.line) == ("warning", 177)
    with caplog.at_level(logging.WARNING, "dlfa_adapters"):
        loaded = load_source(path, "names", "train")
    assert said in caplog.text
    assert any(said in remark for remark in loaded.remarks())
    assert "B-LCO" in task_for("names", loaded, None).labels  # it is learnt as it stands


FEW = "Anna\tB-PER\nmet\tO\n\nin\tO\nLima\tB-LOC\nRome\tB-LCO\n\n"


def test_a_label_of_the_task_is_meant_however_rare_it_is(tmp_path, caplog):
    path = tmp_path / "train-en.tsv"
    path.write_text(FEW, "utf-8")
    said = "the label 'B-LCO' (1 word, line 6) looks like 'B-LOC' of the task with a typing error; correct the file if"
    for source in (path, [(["Anna", "Lima"], ["B-PER", "B-LCO"])]):
        loaded = load_source(source, "ner", "train")
        assert any(said.replace("line 6", "line 6" if source == path else "sentence 1") in x for x in loaded.remarks())
        with pytest.raises(
            ConfigError, match=r"B-LCO \(1\); correct what is a typing error \(B-LCO for B-LOC\), or type"
        ):
            task_for("ner", loaded, None)
    assert load_source(path, "names", "train").remarks() == []  # whose labels nobody knows


def test_what_a_task_has_that_is_meant():
    known = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
    given = ["B-LCO", "I-PRE", "B-PER", "O", "B-MISC", "LCO", "I_LCO", "B-LO", "X"]
    assert meant(given, known) == {"B-LCO": "B-LOC", "I-PRE": "I-PER"}
    assert meant(["NOUNN", "PRO", "ADVB"], ["NOUN", "PROPN", "PRON", "ADV"]) == {
        "NOUNN": "NOUN",
        "PRO": "PRON",
        "ADVB": "ADV",
    }
    assert meant(["abcd"], ["abce", "abcf"]) == meant(["x"], []) == {}


def test_a_typing_error_in_labels_of_texts_is_named(tmp_path):
    path = tmp_path / "mood-en.tsv"
    rows = "".join(f"The soup {i} was fine.\tpositive\nThe soup {i} was cold.\tnegative\n" for i in range(25))
    path.write_text(f"text\tlabel\n{rows}Good.\tpostive\n", "utf-8")
    [problem] = [problem for problem in check_data(path).problems if problem.kind == "slip"]
    assert "the label 'postive' (1 item, line 52) looks like 'positive' (25 items)" in problem.message


def test_parts_of_speech_are_not_compared(tmp_path):
    path = tmp_path / "train-en.tsv"
    path.write_text("She\tPRP\nruns\tVBZZ\n\n" * 30 + "ran\tVBZ\n", "utf-8")
    assert [problem for problem in check_data(path).problems if problem.kind == "slip"] == []
