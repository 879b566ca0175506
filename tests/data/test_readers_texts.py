"""Readers of classification files (CASES C11, C12; DEMAND 19)."""

import json

import pytest

from dlfa_adapters.data.readers import read_file, read_labelled, read_pawsx, read_sib200, read_xnli
from dlfa_adapters.ground.errors import DataError


def put(tmp_path, text, name="data.tsv"):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


PAWSX = (
    "id\tsentence1\tsentence2\tlabel\n1\tA b .\tNS\t0\n2\t\t\t0\n3\tA b .\t\t1\n4\tNS\tNS\t1\n"
    "5\tNS is short .\tNS means no .\t1\n6\tA b .\tB a .\t1\n"
)


def test_c11_placeholders_are_marked_and_kept(tmp_path):
    read = read_file(put(tmp_path, PAWSX, "test_2k.tsv"))
    assert read.format == "pawsx"
    assert [(item.id, item.flaw) for item in read.items] == [
        ("1", "placeholder"),
        ("2", "blank"),
        ("3", "blank"),
        ("4", "placeholder"),
        ("5", None),
        ("6", None),
    ]
    assert [item.label for item in read.items] == ["0", "0", "1", "1", "1", "1"]
    assert {(p.kind, p.message.split()[0]) for p in read.problems} == {("placeholder", "2"), ("blank", "2")}
    assert not read.dropped


def test_pawsx_of_xtreme_undoes_csv_quotes_and_has_row_numbers_as_ids(tmp_path):
    text = '"Er sagte ""nein""."\t"""Nein"" sagte er."\t1\r\nEin „Satz“.\tNoch einer.\t0\r\n'
    read = read_pawsx(put(tmp_path, text))
    assert read.items[0].text == 'Er sagte "nein".'
    assert read.items[0].text_pair == '"Nein" sagte er.'
    assert [item.id for item in read.items] == ["0", "1"]
    assert [item.label for item in read.items] == ["1", "0"]
    assert [(p.kind, p.line) for p in read.problems] == [("csv_quotes", 1)]


@pytest.mark.parametrize("text", ['He said "no".\tb\t1\n', '"All of it"\tb\t1\n', '"a ""b"""\tand "c"\t1\n'])
def test_other_quotes_are_left_alone(tmp_path, text):
    read = read_pawsx(put(tmp_path, text))
    assert [read.items[0].text, read.items[0].text_pair] == text.split("\t")[:2]


def test_quotes_never_swallow_lines(tmp_path):
    read = read_xnli(put(tmp_path, 'He said "yes\tno\tneutral\nb\tc"\tentailment\n'))
    assert [item.text for item in read.items] == ['He said "yes', "b"]


def test_c12_both_spellings_are_one_class(tmp_path):
    train = read_xnli(put(tmp_path, "premise\thypo\tlabel\na\tb\tcontradictory\na\tb\tentailment\na\tb\tneutral\n"))
    assert [item.label for item in train.items] == ["contradiction", "entailment", "neutral"]


def test_c12_no_gold_label_is_left_out_and_ids_stay_aligned(tmp_path):
    text = "language\tgold_label\tsentence1\tsentence2\nen\tcontradiction\ta\tb\nen\t-\tc\td\nen\tneutral\te\tf\n"
    read = read_xnli(put(tmp_path, text))
    assert [(item.id, item.label) for item in read.items] == [("0", "contradiction"), ("2", "neutral")]
    assert read.dropped == {"no_gold_label": 1}


def test_c12_headerless_file_keeps_its_first_row(tmp_path):
    read = read_file(put(tmp_path, "a\tb\tneutral\nc\td\tentailment\ne\tf\tcontradiction\n", "dev-en.tsv"))
    assert read.format == "xnli"
    assert len(read.items) == 3
    assert read.items[0].text == "a"


def test_c12_columns_by_name_and_languages_mixed(tmp_path):
    text = "gold_label\tpairID\tsentence2\tlanguage\tsentence1\nneutral\t7\tb\tde\ta\nentailment\t7\td\ten\tc\n"
    read = read_file(put(tmp_path, text))
    assert read.format == "xnli"
    assert [(i.language, i.text, i.text_pair, i.label, i.id) for i in read.items] == [
        ("de", "a", "b", "neutral", "7"),
        ("en", "c", "d", "entailment", "7"),
    ]


def test_c12_jsonl(tmp_path):
    rows = [
        {"gold_label": "contradictory", "sentence1": "a", "sentence2": "b", "language": "sw", "pairID": "1"},
        {"gold_label": "-", "sentence1": "a", "sentence2": "b", "language": "sw", "pairID": "2"},
    ]
    read = read_file(put(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "xnli.dev.jsonl"))
    assert [(i.id, i.language, i.label) for i in read.items] == [("1", "sw", "contradiction")]
    assert read.dropped == {"no_gold_label": 1}


def test_c17_unknown_labels_are_kept(tmp_path):
    read = read_xnli(put(tmp_path, "a\tb\tneutral\nc\td\tmaybe\n"))
    assert [item.label for item in read.items] == ["neutral", "maybe"]


def test_withheld_labels_are_none(tmp_path):
    read = read_file(put(tmp_path, "a b\tc d\ne f\tg h\n", "xnli/test-de.tsv"))
    assert read.format == "xnli"
    assert [item.label for item in read.items] == [None, None]


def test_sib200(tmp_path):
    read = read_file(put(tmp_path, "index_id\tcategory\ttext\n548\tsports\tMbio.\n9\ttravel\tSafari.\n"))
    assert read.format == "sib200"
    assert [(i.id, i.label, i.text) for i in read.items] == [("548", "sports", "Mbio."), ("9", "travel", "Safari.")]


@pytest.mark.parametrize("order", ["label_first", "text_first"])
def test_labelled_text_without_header(tmp_path, order):
    rows = [("pos", "A fine day."), ("neg", "A bad day."), ("pos", "Good."), ("neg", "Not so good.")]
    lines = ("\t".join(row if order == "label_first" else row[::-1]) for row in rows)
    read = read_file(put(tmp_path, "\n".join(lines) + "\n"))
    assert read.format == "labelled"
    assert [(item.label, item.text) for item in read.items] == rows


def test_labelled_text_in_two_files(tmp_path):
    put(tmp_path, "0\n2\n", "val_labels.txt")
    path = put(tmp_path, "bad :(\ngood\u2028:)\n", "val_text.txt")
    read = read_file(path)
    assert [(item.text, item.label) for item in read.items] == [("bad :(", "0"), ("good\u2028:)", "2")]
    put(tmp_path, "0\n", "val_labels.txt")
    with pytest.raises(
        DataError, match=r"line 2: expected one label a text, but val_labels\.txt has 1 lines for 2 texts"
    ):
        read_file(path)


def test_labelled_jsonl_with_numbers_as_labels(tmp_path):
    read = read_labelled(put(tmp_path, '{"text": "a", "label": 1}\n{"text": "b", "label": "x"}\n', "d.jsonl"))
    assert [item.label for item in read.items] == ["1", "x"]


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (
            read_xnli,
            "premise\tlabel\na\tneutral\n",
            "line 1: expected a column with one of the names text_pair, hypothesis",
        ),
        (read_xnli, "a\tb\tneutral\nc\tneutral\n", "line 2: expected 3 columns with TABs between them, but got 2"),
        (read_xnli, "one\n", "line 1: expected a header that names the columns, or 2 "),
        (read_sib200, "index_id\ttext\n1\ta\n", "line 1: expected a column with one of the names label, gold_label"),
        (read_labelled, '{"text": 3}\n', "line 1: expected a key with one of the names label"),
        (read_labelled, '{"text": "a", "label": "b"}\n[1]\n', "line 2: expected a JSON object on one line"),
        (read_labelled, '{"text": "a", "label": "b"}\n{"text\n', "line 2: expected a JSON object on one line"),
    ],
)
def test_missing_columns_and_bad_rows(tmp_path, reader, text, message):
    with pytest.raises(DataError, match=message):
        reader(put(tmp_path, text))


def test_pairs_and_text(tmp_path):
    pairs = read_file(put(tmp_path, "von\tof\nzu\tto\nim\tin\n"))
    assert pairs.format == "pairs"
    assert [(i.text, i.text_pair) for i in pairs.items] == [("von", "of"), ("zu", "to"), ("im", "in")]
    text = read_file(put(tmp_path, "One line.\n\n  \nTwo.\n", "en.txt"))
    assert text.format == "text"
    assert [(i.text, i.line) for i in text.items] == [("One line.", 1), ("Two.", 4)]
    assert text.dropped == {"empty_line": 2}
