"""MLDoc's files: a topic TAB a document; names, sizes, and documents that Python 3 wrote as bytes."""

import pytest

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.layout import find_files, language_and_split
from dlfa_adapters.data.readers import read_file, read_mldoc
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import MLDOC

ROWS = 'MCAT\tLONDON - Shares\tfell. They closed lower.\nGCAT\tA minister left. He was tired.\nGCAT\t"No." He left.\n'
TEXTS = ["LONDON - Shares\tfell. They closed lower.", "A minister left. He was tired.", '"No." He left.']


def put(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.mark.parametrize("task", [None, MLDOC])
def test_a_file_is_known_by_its_topics(task, tmp_path):
    read = read_file(put(tmp_path, "english.train.1000", ROWS), task=task)
    assert (read.format, read.why) == ("mldoc", "by its topics")
    assert [(item.label, item.text, item.text_pair, item.id, item.line) for item in read.items] == [
        ("MCAT", TEXTS[0], None, "0", 1), ("GCAT", TEXTS[1], None, "1", 2), ("GCAT", TEXTS[2], None, "2", 3),
    ]  # fmt: skip
    assert read.problems == []


def test_other_labels_are_another_format(tmp_path):
    assert (
        read_file(put(tmp_path, "x.tsv", ROWS.replace("MCAT", "sports").replace("Shares\t", ""))).format == "labelled"
    )


def test_documents_that_were_written_as_bytes(tmp_path):
    documents = ["Café au lait. Ça va.", 'It\'s "here".\tThere', "b'not bytes", "b'é'", "plain"]
    rows = "".join(f"ECAT\t{text.encode('utf-8')!r}\n" for text in documents)
    read = read_mldoc(put(tmp_path, "french.dev", rows + "ECAT\tb'cut\nCCAT\tb'\\xff'\n"))
    assert [item.text for item in read.items] == [*documents, "b'cut", "b'\\xff'"]
    [problem] = read.problems
    assert problem.message == "5 documents are written as Python shows bytes, b'...', and were read so"


def test_a_line_without_a_topic_is_named(tmp_path):
    path = put(tmp_path, "german.test", "CCAT\tGut. So.\n\nnichts\n")
    with pytest.raises(DataError, match=r"german\.test, line 3: expected a topic, a TAB and a document"):
        read_mldoc(path)
    check = check_data(path, "mldoc")
    assert (check.items, check.dropped) == (1, {"empty_line": 1, "bad_row": 1})


def test_languages_and_splits_are_in_the_names(tmp_path):
    for name, language, split in (
        ("english/english.train.1000", "en", "train"), ("german/german.dev", "de", "dev"),
        ("x/chinese.test", "zh", "test"),
    ):  # fmt: skip
        assert language_and_split(tmp_path / name) == (language, split)
    assert language_and_split(tmp_path / "klingon.train.1000") == ("und", None)
    for name in ("english/english.dev", "english/english.train.1000", "german/german.test", "japanese/japanese.test"):
        put(tmp_path, name, ROWS)
    assert [(file.language, file.path.name) for file in find_files(tmp_path, "mldoc", "test")] == [
        ("de", "german.test"), ("ja", "japanese.test"),
    ]  # fmt: skip
    loaded = load_source(tmp_path, "mldoc", "train", ["en"])
    assert (loaded.dataset["text"][:], loaded.dropped, loaded.problems) == (TEXTS, {}, [])
    put(tmp_path, "english/english.train.5000", ROWS)
    with pytest.raises(DataError, match=r"expected one train file .* english\.train\.1000, english\.train\.5000, of"):
        load_source(tmp_path, "mldoc", "train", ["en"])
    assert len(load_source(tmp_path / "english" / "english.train.5000", "mldoc", "train").dataset) == 3
    assert load_source(tmp_path, "mldoc", "test").dataset["language"][:] == ["de"] * 3 + ["ja"] * 3
