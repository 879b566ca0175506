"""What the tags of data say of spans, whatever their notation, and which of them are slips."""

import pytest

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import SpanF1
from dlfa_adapters.predict.load import with_labels
from dlfa_adapters.tasks import is_span_task, lookalikes, tagging_task
from dlfa_adapters.tasks.span_tags import find_span_tags, how_it_differs, read_tag, span_hint, to_learn

CLEAN = {"O": 900, "B-PER": 20, "I-PER": 5}


@pytest.mark.parametrize(
    "stray", ["o", "O ", "O\u00a0", "0", "tag", "B_PER", "PER-B", "b-per", "1-PER", "B", "PER", "ZZZ"]
)
def test_one_stray_tag_decides_nothing_wherever_it_stands(stray):
    for counts in ({**CLEAN, stray: 1}, {stray: 1, **CLEAN}):
        labels, metric = to_learn(counts)
        assert (metric, sorted(labels)) == ("span_f1", sorted(CLEAN))
        assert list(find_span_tags(counts).slips) == [stray]


@pytest.mark.parametrize(
    ("stray", "like", "what"),
    [
        ("o", "O", "case"),
        ("b-per", "B-PER", "case"),
        ("O ", "O", "blanks"),
        ("B-PER\u00a0", "B-PER", "blanks"),
        ("I-PER\u200b", "I-PER", "blanks"),
        ("B_PER", "B-PER", "separator"),
        ("B\u2013PER", "B-PER", "separator"),
        ("PER-I", "I-PER", "order"),
        ("0", "O", "digit"),
        ("1-PER", "I-PER", "digit"),
        ("I-per ", "I-PER", "blanks and case"),
        ("PER_b", "B-PER", "order and separator and case"),
    ],
)
def test_what_a_slip_looks_like_and_in_what_it_differs(stray, like, what):
    assert find_span_tags({**CLEAN, stray: 1}).slips == {stray: like}
    assert how_it_differs(stray, like) == what


@pytest.mark.parametrize(
    ("counts", "rewritten"),
    [
        ({"B_PER": 1, "I_PER": 1, "met": 0, "O": 1}, {"B_PER": "B-PER", "I_PER": "I-PER"}),
        ({"PER-B": 3, "PER-I": 1, "O": 9}, {"PER-B": "B-PER", "PER-I": "I-PER"}),
        ({"b-per": 3, "i-per": 1, "o": 9}, {"b-per": "B-per", "i-per": "I-per", "o": "O"}),
        ({"B-PER": 1, "0": 1, "B-LOC": 1}, {"0": "O"}),
        ({"B:PER ": 2, "I:PER ": 2, "O ": 5}, {"B:PER ": "B-PER", "I:PER ": "I-PER", "O ": "O"}),
        ({"b": 1, "i": 1, "o": 2}, {"b": "B", "i": "I", "o": "O"}),
        ({"B": 1, "I": 1, "O": 1}, {}),
    ],
)
def test_a_notation_that_all_tags_have_is_recognised(counts, rewritten):
    found = find_span_tags(counts)
    assert found.rewritten == rewritten
    assert set(found.slips) <= {"met"}


@pytest.mark.parametrize(
    "counts",
    [
        {"NOUN": 50, "VERB": 20, "PUNCT": 9},
        {"NN": 5, "PRP$": 2, ".": 3, ":": 1, "-LRB-": 1},
        {"NOUN-S": 5, "NOUN-M": 5, "ADJ-S": 2},  # no B, no I
        {"V_IND": 2, "B_PER": 1, "N_NOM": 5},
        {"B-PER": 3, "NOUN": 2},
        {"O": 900, "PER": 90, "B-PER": 1},  # one good tag decides nothing, either
        {"A": 1, "B": 1, "I": 1, "O": 1},
        {"O": 5},
        {},
    ],
)
def test_tags_of_single_words_are_none_of_spans(counts):
    assert find_span_tags(counts) is None
    assert to_learn(counts) == (list(counts), "accuracy")


def test_a_clear_majority_is_four_fifths():
    assert find_span_tags({"B-PER": 40, "X": 10}).slips == {"X": None}
    assert find_span_tags({"B-PER": 40, "X": 11}) is None
    assert find_span_tags({"B-PER": 2, "X": 1}).slips == {"X": None}  # a single one of a handful
    assert find_span_tags({"B-PER": 1, "X": 1}) is None
    assert find_span_tags({"B_PER": 2, "X": 1}) is None  # not where it has to be rewritten
    assert find_span_tags({"B_PER": 40, "PER-B": 10}).slips == {"PER-B": "B_PER"}
    assert find_span_tags({"B_PER": 40, "PER-B": 11}) is None
    assert find_span_tags({"b-per": 2, "B-PER": 2}).slips == {"b-per": "B-PER"}  # of two notations ours, if none wins
    assert find_span_tags({"B-PER": 40, "b_loc": 1}).slips == {"b_loc": "B-loc"}  # which the data do not have
    assert find_span_tags({"B-PER": 11, "b-per": 10}).slips == {"b-per": "B-PER"}  # both are of spans


def test_tags_without_prefixes_get_a_hint_and_parts_of_speech_none():
    assert "write B-PER for the first word of each and I-PER" in span_hint({"O": 9, "PER": 2, "LOC": 1})
    assert "write B-TYPE" in span_hint({"O": 3, "B_PER": 2, "PER-B": 2})
    for counts in ({"NOUN": 5, "VERB": 2}, CLEAN, {**CLEAN, "o": 1}, {"O": 4}, {"O": 1, "A": 5, "B": 2}):
        assert span_hint(counts) is None


def test_labels_of_a_task_of_ones_own_that_are_nearly_all_of_spans():
    with pytest.raises(
        ConfigError, match=r"O, B-TYPE, I-TYPE, but there are also 'o'; leave these out, or type metric"
    ):
        tagging_task("mine", ["O", "B-PER", "I-PER", "o"])
    assert tagging_task("mine", ["O", "B-PER", "I-PER", "o"], "accuracy").metric == "accuracy"
    typeless = tagging_task("mine", ["O", "B"])
    assert (typeless.labels, typeless.metric) == (("O", "B", "I"), "span_f1")
    assert not is_span_task(["O", "b-per"])
    assert not is_span_task(["O", "S-PER"])


def test_lookalikes_of_any_labels():
    assert lookalikes({"NOUN": 5, "noun": 1, "VERB": 3, "VERB\u00a0": 1, "a_b": 2, "a-b": 1}) == {
        "noun": "NOUN", "VERB\u00a0": "VERB", "a-b": "a_b",
    }  # fmt: skip
    assert lookalikes({".": 1, ":": 1, "PRP": 2, "PRP$": 1, "$.": 1, "$,": 1, "0": 1, "1": 2}) == {}


def test_read_tag():
    assert read_tag("B-event-protest").tag == "B-event-protest"
    assert read_tag("event-protest-B").kind == "event-protest"
    for nothing in ("NOUN", "", " ", "B-", "-B", "-LRB-", "tag"):
        assert read_tag(nothing) is None


def test_a_run_that_learnt_a_slip_as_a_label_is_scored_by_spans():
    labels = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "o"]
    task = with_labels("names", "tagging", labels)
    assert (task.metric, list(task.labels)) == ("span_f1", labels)
    assert with_labels("names", "tagging", ["O", "PER", "LOC"]).metric == "accuracy"


@pytest.mark.parametrize("gold", [["O", "O", "B_PER", "PER-B"], ["NOUN", "O"], ["o"], ["O"] * 3 + ["X"]])
def test_span_f1_refuses_gold_tags_that_are_in_no_or_another_notation(gold):
    with pytest.raises(DataError, match="expected IOB tags"):
        SpanF1().compute(predictions=[["O"] * len(gold)], references=[gold])


def test_span_f1_counts_a_slip_as_a_span_of_its_own():
    gold = [["B-PER", "o", "I-PER", "O", "PER"], ["O"] * 4]
    result = SpanF1().compute(predictions=[["B-PER", "O", "O", "O", "B-PER"], ["O"] * 4], references=gold)
    assert result["support"] == 4
    assert result["lenient"]["per_type"]["'o'"]["f1"] == 0.0
    assert result["lenient"]["per_type"]["'PER'"]["support"] == 1  # not of the type PER
    assert result["span_f1_lenient"] == 2 / (2 + 4)
