"""JSON in its many forms, CSV, gzip and Parquet: read as they are, or refused with the cause."""

import csv
import gzip
import json

import datasets
import pytest

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.readers import read_file
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.ground.errors import DataError

TOKENS = [{"tokens": ["Anna", "met"], "ner_tags": ["B-PER", "O"]}, {"tokens": ["Bern"], "ner_tags": ["B-LOC"]}]
WANTED = [[("Anna", "B-PER"), ("met", "O")], [("Bern", "B-LOC")]]


def put(tmp_path, content, name="train-en.jsonl"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def jsonl(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tagged(read):
    return [list(zip(item.words, item.tags, strict=True)) for item in read.items]


FORMS = {
    "lines": jsonl,
    "array": json.dumps,
    "indented array": lambda rows: json.dumps(rows, indent=2),
    "indented objects": lambda rows: "\n".join(json.dumps(row, indent=2) for row in rows),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["train-en.jsonl", "train-en.json", "train-en.txt"])
def test_tokens_with_tags(tmp_path, form, name):
    read = read_file(put(tmp_path, FORMS[form](TOKENS), name))
    assert read.format == "tokens"
    assert tagged(read) == WANTED
    assert str(read).startswith("JSON or Parquet: word (tokens), tag (ner_tags); IOB2; 2 types; 2 sentences")


@pytest.mark.parametrize("words", ["tokens", "words"])
@pytest.mark.parametrize("tags", ["tags", "ner_tags", "labels"])
def test_the_usual_keys_of_words_and_tags(tmp_path, words, tags):
    rows = [{"id": "s1", words: row["tokens"], tags: row["ner_tags"]} for row in TOKENS]
    assert tagged(read_file(put(tmp_path, jsonl(rows)))) == WANTED
    assert load_data(rows, task="ner")["tags"][0] == ["B-PER", "O"]


def test_the_task_or_an_option_chooses_among_tags(tmp_path):
    rows = [{"tokens": ["Anna", "ran"], "pos_tags": ["PROPN", "VERB"], "ner_tags": ["I-PER", "O"]}]
    path = put(tmp_path, jsonl(rows))
    assert load_data(path, task="ner")["tags"][0] == ["B-PER", "O"]
    for source in (path, rows):
        assert load_data(source, task="pos")["tags"][0] == ["PROPN", "VERB"]
    assert load_data(path, tag_column="pos_tags")["tags"][0] == ["PROPN", "VERB"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a", "b"], "tags": ["O"]}, "expected a tag a word, but there are 2 words and 1 tags"),
        ({"tokens": ["a"], "ner_tags": [3]}, "expected tags with names, but got the number 3; write e.g. B-PER"),
        ({"tokens": ["a", 7], "tags": ["O", "O"]}, "expected every word to be a string, but got 7"),
        ({"tokens": ["a"], "tags": [None]}, "expected every tag to be a string, but got None"),
        ({"text": "x", "label": ["a", "b"]}, r"expected one label, but got 2: \['a', 'b'\]"),
        ({"text": "x", "label": {"a": 1}}, "expected a label, but got {'a': 1}"),
        ({"text": "Anna", "label": [[0, 9, "PER"]]}, "expected a span inside the text of 4 characters"),
        ({"text": "Anna", "label": [[0, 4]]}, "expected a span of start, end and one label"),
        ({"text": "Anna B", "label": [[0, 4, "A"], [2, 6, "B"]]}, "but A and B overlap at character 2"),
    ],
)
def test_what_is_not_read_is_refused_with_its_cause(tmp_path, row, message):
    good = (
        {"tokens": ["a"], ("tags" if "tags" in row else "ner_tags"): ["O"]}
        if "tokens" in row
        else {"text": "Anna", "label": [[0, 4, "PER"]]}
    )
    good = {"text": "a", "label": "b"} if "text" in row and not any(map(list.__instancecheck__, row["label"])) else good
    path = put(tmp_path, jsonl([good, row]))
    with pytest.raises(DataError, match=rf"line 2: .*{message}"):
        read_file(path)
    check = check_data(path)
    assert (check.items, check.dropped, [problem.line for problem in check.errors]) == (1, {"bad_row": 1}, [2])


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("good", "good"),
        (["good"], "good"),
        (True, "true"),
        (1, "1"),
        (1.0, "1"),
        (0.5, "0.5"),
        (None, None),
        ([], None),
    ],
)
def test_labels_of_texts(tmp_path, label, wanted):
    rows = [{"text": "a b", "label": label}, {"text": "c", "label": "x"}]
    read = read_file(put(tmp_path, jsonl(rows)), "labelled")
    assert [item.label for item in read.items] == [wanted, "x"]


def test_an_empty_label_is_an_error(tmp_path):
    with pytest.raises(DataError, match="line 2: expected a label, but it is empty"):
        read_file(put(tmp_path, "It came late.\tsad\nThank you.\t\nWell done.\tglad\n", "texts.tsv"), "labelled")


def test_an_array_of_texts_in_a_json_file(tmp_path):
    read = read_file(put(tmp_path, json.dumps([{"text": "a b", "label": "x"}, {"text": "c", "label": "y"}]), "d.json"))
    assert [(item.text, item.label) for item in read.items] == [("a b", "x"), ("c", "y")]
    with pytest.raises(DataError, match="expected a JSON array, but it is cut short or damaged"):
        read_file(put(tmp_path, '[{"text": "a b", "label": "x"}, {"text": "c"', "e.json"))


TEXT = "Anna Lee met Bob in New York-based offices."
SPANS = [[0, 8, "PER"], [13, 16, "PER"], [20, 28, "LOC"]]
SPLIT = "Anna/B-PER Lee/I-PER met/O Bob/B-PER in/O New/B-LOC York/I-LOC -based/O offices/O ./O"
DOCCANO = [{"id": 1, "text": TEXT, "label": SPANS}]
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"text": TEXT},
        "annotations": [
            {
                "result": [
                    {"type": "labels", "value": {"start": s, "end": e, "text": TEXT[s:e], "labels": [kind]}}
                    for s, e, kind in SPANS
                ]
            }
        ],
    }
]
OBJECTS = [{"text": TEXT, "entities": [{"start_offset": s, "end_offset": e, "label": kind} for s, e, kind in SPANS]}]


@pytest.mark.parametrize("rows", [DOCCANO, LABEL_STUDIO, OBJECTS, [{"text": TEXT, "labels": SPANS}]])
def test_spans_of_characters_become_words_with_tags(tmp_path, rows):
    read = read_file(put(tmp_path, json.dumps(rows), "export.json"))
    assert (read.format, read.scheme) == ("spans", "IOB2")
    assert " ".join("/".join(pair) for pair in tagged(read)[0]) == SPLIT
    assert [(p.kind, p.line) for p in read.problems] == [("cut_word", 1)]  # York-based is one word otherwise


def test_spans_may_touch(tmp_path):
    row = {"text": "Roma-Lazio", "label": [[0, 4, "CITY"], [4, 5, "SIGN"], [5, 10, "LAND"]]}
    read = read_file(put(tmp_path, jsonl([row])))
    assert tagged(read) == [[("Roma", "B-CITY"), ("-", "B-SIGN"), ("Lazio", "B-LAND")]]


def test_ids_of_texts_with_spans_are_their_own_where_there_are_any(tmp_path):
    rows = [{"text": "Roma", "label": []}, {"id": 7, "text": "Roma", "label": []}]
    read = read_file(put(tmp_path, jsonl(rows)), "spans")
    assert [(item.id, item.own_id) for item in read.items] == [("0", False), ("7", True)]


def test_places_in_utf16_are_told_by_the_copy_of_the_text(tmp_path):
    value = {"start": 3, "end": 7, "text": "Anna", "labels": ["PER"]}
    row = {"text": "\U0001f600 Anna", "label": [value]}
    assert tagged(read_file(put(tmp_path, jsonl([row])))) == [[("\U0001f600", "O"), ("Anna", "B-PER")]]
    value["text"] = "Bob"
    with pytest.raises(DataError, match="expected the span 3 to 7 to be 'Bob', but there is 'nna'"):
        read_file(put(tmp_path, jsonl([row])))


def test_choices_of_label_studio_are_labels(tmp_path):
    rows = [
        {"id": i, "data": {"text": f"a {i}"}, "annotations": [{"result": [{"value": {"choices": [label]}}]}]}
        for i, label in enumerate(["good", "bad"])
    ]
    read = read_file(put(tmp_path, json.dumps(rows), "export.json"))
    assert [(item.text, item.label) for item in read.items] == [("a 0", "good"), ("a 1", "bad")]


def test_cancelled_annotations_of_label_studio_are_left_out_and_those_of_two_people_refused(tmp_path):
    [row] = json.loads(json.dumps(LABEL_STUDIO))
    other = {"result": [{"value": {"start": 0, "end": 4, "labels": ["ORG"]}}], "was_cancelled": True}
    row["annotations"].insert(0, other)
    read = read_file(put(tmp_path, json.dumps([row]), "export.json"))
    assert " ".join("/".join(pair) for pair in tagged(read)[0]) == SPLIT
    other["was_cancelled"] = False
    with pytest.raises(DataError, match="line 1: expected a text and a list of spans"):
        read_file(put(tmp_path, json.dumps([row]), "export.json"), "spans")


HARD = [('He said "no",\nand left', "a;b", "neutral"), ("plain", "", "entailment"), ("x\ty", "z", "contradiction")]


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("header", [("premise", "hypothesis", "label"), ("text_a", "text_b", "label"), None])
def test_csv_with_quotes_and_line_ends_inside_fields(tmp_path, delimiter, header):
    path = tmp_path / "train-en.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([*([header] if header else ()), *HARD])
    for task in (None, "xnli"):
        data = load_data(path, task=task, split="train")
        assert list(zip(data["text"], data["text_pair"], data["label"], strict=True)) == HARD
    read = read_file(path)
    assert [item.line for item in read.items] == ([2, 4, 5] if header else [1, 3, 4])


def test_texts_that_begin_like_tags_are_no_words_with_tags(tmp_path):
    read = read_file(put(tmp_path, "B-PER is a tag,and so is O,neutral\nB-LOC is one,too,entailment\n", "a.csv"))
    assert [item.text_pair for item in read.items] == ["and so is O", "too"]


def test_csv_of_texts_and_its_bad_rows(tmp_path):
    path = put(tmp_path, 'message,intent\n"How, please?",ask\nBye,leave\n', "a.csv")
    assert [(item.text, item.label) for item in read_file(path).items] == [("How, please?", "ask"), ("Bye", "leave")]
    gaps = read_file(put(tmp_path, "text,label\na,x\n\n\nb,y\n", "gaps.csv"))
    assert ([item.line for item in gaps.items], gaps.dropped) == ([2, 5], {"empty_line": 2})
    with pytest.raises(DataError, match="line 3: expected 2 columns with commas or semicolons between them, but got 3"):
        read_file(put(tmp_path, "text,label\na,x\nb, c,y\n", "b.csv"))
    with pytest.raises(DataError, match="line 3: expected a row of a CSV file, but unexpected end of data"):
        read_file(put(tmp_path, 'text,label\na,x\n"b,y\n', "c.csv"))


@pytest.mark.parametrize("header", ["text_a\ttext_b\tlabel", "review\tsentiment", "message\tintent"])
def test_header_rows_of_texts(tmp_path, header):
    width = header.count("\t") + 1
    rows = "".join("\t".join([f"a {i}", f"b {i}"][: width - 1] + ["xy"[i % 2]]) + "\n" for i in range(6))
    check = check_data(put(tmp_path, f"{header}\n{rows}", "train-en.tsv"))
    assert (check.items, check.labels, check.problems) == (6, {"x": 3, "y": 3}, ())


def test_a_label_in_the_first_row_alone_may_be_a_header(tmp_path):
    rows = "".join(f"a text {i}\t{'xy'[i % 2]}\n" for i in range(6))
    check = check_data(put(tmp_path, f"Satz\tUrteil\n{rows}", "train-en.tsv"))
    assert ("header", 1) in [(problem.kind, problem.line) for problem in check.problems]
    check = check_data(put(tmp_path, f"Satz\tUrteil\n{rows}another\tz\n", "train-en.tsv"))
    assert check.problems == ()  # other labels are as rare


@pytest.mark.parametrize("name", ["train-en.tsv.gz", "train-en.tsv", "en_x-ud-train.conllu.gz"])
def test_gzip(tmp_path, name):
    text = "Anna\tB-PER\nmet\tO\n\nBern\tB-LOC\n\n"
    if "conllu" in name:
        rows = ("1\tAnna\t_\tB-PER", "2\tmet\t_\tO", "", "1\tBern\t_\tB-LOC", "")
        text = "".join(row + "\t_\t_\t0\t_\t_\t_" * bool(row) + "\n" for row in rows)
    path = put(tmp_path, gzip.compress(text.encode()), name)
    assert tagged(read_file(path)) == WANTED
    assert load_data(path)["language"][:] == ["en", "en"]
    assert load_data(tmp_path, split="train").num_rows == 2
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="expected a file packed by gzip, but it cannot be unpacked"):
        read_file(path)


NAMES = ["O", "B-PER", "B-LOC"]
TAGGED = datasets.Dataset.from_dict(
    {"tokens": [["Anna", "met"], ["Bern"]], "ner_tags": [[1, 0], [2]]},
    features=datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=NAMES)),
        }
    ),
)
TEXTS = datasets.Dataset.from_dict(
    {"text": ["a b", "c"], "label": [1, 0]},
    features=datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}),
)


def test_parquet_with_the_names_of_its_classes(tmp_path):
    TAGGED.to_parquet(tmp_path / "names-en.parquet")
    TEXTS.to_parquet(tmp_path / "mood-en.parquet")
    assert tagged(read_file(tmp_path / "names-en.parquet")) == WANTED
    assert load_data(tmp_path / "names-en.parquet", task="ner")["tags"][1] == ["B-LOC"]
    assert load_data(tmp_path / "mood-en.parquet")["label"][:] == ["pos", "neg"]
    with pytest.raises(DataError, match="expected text in UTF-8, but this is a Parquet file; name tokens"):
        read_file(tmp_path / "mood-en.parquet", "text")
    (tmp_path / "mood-en.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="expected a Parquet file, but it cannot be read"):
        read_file(tmp_path / "mood-en.parquet")


def test_class_names_of_data_sets(tmp_path):
    assert load_data(TEXTS)["label"][:] == ["pos", "neg"]
    assert load_data(TAGGED, task="ner")["tags"][:] == [["B-PER", "O"], ["B-LOC"]]
    assert load_data(TAGGED.rename_columns({"tokens": "words", "ner_tags": "tags"}))["tags"][1] == ["B-LOC"]
    assert load_data(TEXTS.to_iterable_dataset())["label"][:] == ["pos", "neg"]
    with pytest.raises(DataError, match="item 0: expected tags with names, but got the number 1"):
        load_data(TAGGED.to_list())


@pytest.mark.parametrize(
    ("start", "what"),
    [(b"PK\x03\x04\xff", "a ZIP archive"), (b"BZh9\xff", "packed by bzip2"), (b"\x89PNG\0", "no text")],
)
def test_what_is_no_text_is_one_problem(tmp_path, start, what):
    path = put(tmp_path, start + b"\xff\n\0" * 1000, "x.tsv")
    for read in (read_file, check_data):
        with pytest.raises(DataError, match=what):
            read(path)
