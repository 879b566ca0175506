"""Tag schemes: found, converted, never changed in place (CASES C13)."""

import pytest

from dlfa_adapters.data.readers import read_columns
from dlfa_adapters.data.readers.iob import converted_to_iob2, detect_scheme, orphans, repair, split_tag


def test_c13_iob1_is_found_and_converted(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text("Anna\tI-PER\nLee\tI-PER\nBob\tB-PER\nmet\tO\n")
    read = read_columns(path)
    assert read.scheme == "IOB1"
    assert read.items[0].tags == ["B-PER", "I-PER", "B-PER", "O"]  # two entities: words 1-2 and 3
    assert [problem.message for problem in read.problems] == [
        "tags are in IOB1; 1 of them were rewritten to make them IOB2"
    ]


def test_c13_lists_are_not_changed_in_place():
    tags = ["I-PER", "I-PER", "B-PER", "O"]
    assert converted_to_iob2(tags, "IOB1") == ["B-PER", "I-PER", "B-PER", "O"]
    assert repair(tags) == (["B-PER", "I-PER", "B-PER", "O"], 1)
    assert tags == ["I-PER", "I-PER", "B-PER", "O"]


@pytest.mark.parametrize(
    ("sequences", "scheme"),
    [
        ([["I-PER", "I-PER", "B-PER", "O"]], "IOB1"),
        ([["I-PER", "O", "I-LOC"]], "IOB1"),
        ([["I-PER", "I-LOC"], ["O"]], "IOB1"),
        ([["B-PER", "I-PER", "O", "B-LOC"]], "IOB2"),
        ([["B-PER", "O"], ["I-PER", "O"]], "IOB2"),  # PAN-X zh: an orphan does not make it IOB1
        ([["B-PER", "I-LOC"]], "IOB2"),
        ([["B-PER", "L-PER", "U-LOC"]], "BILOU"),
        ([["B-PER", "E-PER", "S-LOC"]], "BIOES"),
        ([["NOUN", "VERB"]], None),
        ([["O", "O"]], None),
        ([], None),
    ],
)
def test_detect_scheme(sequences, scheme):
    assert detect_scheme(sequences) == scheme


@pytest.mark.parametrize(
    ("tags", "scheme", "wanted"),
    [
        (["B-A", "I-A", "L-A", "U-B", "O"], "BILOU", ["B-A", "I-A", "I-A", "B-B", "O"]),
        (["B-A", "E-A", "S-B", "O"], "BIOES", ["B-A", "I-A", "B-B", "O"]),
        (["I-A", "I-B", "B-B", "I-B"], "IOB1", ["B-A", "B-B", "B-B", "I-B"]),
        (["I-A", "O", "I-A"], "IOB2", ["I-A", "O", "I-A"]),
        (["NOUN", "X-Y"], None, ["NOUN", "X-Y"]),
    ],
)
def test_to_iob2(tags, scheme, wanted):
    assert converted_to_iob2(tags, scheme) == wanted


def test_types_may_have_hyphens_and_odd_tags_are_none():
    assert split_tag("B-event-protest") == ("B", "event-protest")
    assert split_tag("O") == ("O", "")
    assert split_tag("B-") is None
    assert split_tag("INTJ") is None
    assert split_tag("X-Y") is None


def test_orphans():
    assert orphans(["I-A", "I-A", "O", "I-B", "B-A", "I-B"]) == [0, 3, 5]
    assert orphans(["B-A", "I-A", "O"]) == []


def test_given_scheme_wins(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tI-PER\nb\tO\n")
    assert read_columns(path, scheme="IOB2").items[0].tags == ["I-PER", "O"]
