"""Words of a file without blank lines are one sentence: said by check and by all that reads, with what to type."""

import logging
import shutil
import subprocess

import pytest

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.sources import load_source

ROWS = ["She\tO", "met\tO", "Anna\tB-PER", "Berg\tI-PER", "in\tO", "Lima\tB-LOC", ".\tO"]


def told(path):
    return [problem.message for problem in check_data(path).problems if problem.kind == "one_sentence"]


def write(path, rows, times, between=""):
    path.write_text(f"\n{between}".join(["\n".join(rows)] * times) + "\n", "utf-8")
    return path


def test_the_command_that_is_named_puts_the_sentences_apart(tmp_path, caplog):
    path = write(tmp_path / "my train-en.tsv", ROWS, 60)
    [said] = told(path)
    assert said.startswith("the whole file is one sentence of 420 words; if there are more, put an empty line behind")
    with caplog.at_level(logging.WARNING, "dlfa_adapters"):
        loaded = load_source(path, "names", "train")
    assert said in caplog.text
    assert any(said in remark for remark in loaded.remarks())
    command = said.partition("full stop: ")[2].removesuffix(" > NEW")
    if shutil.which("awk") is None:
        pytest.skip("there is no awk")
    new = tmp_path / "new.tsv"
    new.write_text(subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout, "utf-8")
    assert told(new) == []
    assert [item["words"] for item in load_source(new, "names", "train").dataset] == [
        ["She", "met", "Anna", "Berg", "in", "Lima", "."]
    ] * 60


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        (["1 She O", "2 left O", "3 . O"], 'awk \'{print} $2 == "." {print ""}\''),  # blanks, a number first
        (["She\tO", "left\tO", "。\tO"], None),  # another full stop
        (["en:She\tO", "en:met\tO", "en:.\tO"], None),  # prefixes
    ],
)
def test_the_command_fits_the_columns(rows, named, tmp_path):
    [said] = told(write(tmp_path / "train-en.tsv", rows, 60))
    assert (named or "awk") in said if named else "awk" not in said


def test_one_long_sentence_is_said_from_fifty_words_on(tmp_path):
    rows = [f"w{i}\tO" for i in range(50)]
    assert told(write(tmp_path / "a.tsv", ["Rome\tB-LOC", *rows[:49]], 1)) == []
    [said] = told(write(tmp_path / "b.tsv", ["Rome\tB-LOC", *rows], 1))
    assert said.endswith("is one sentence of 51 words; if there are more, put an empty line behind each")


def test_a_short_file_with_several_ends_of_sentences_is_one_all_the_same(tmp_path):
    [said] = told(write(tmp_path / "a.tsv", ROWS, 3))
    assert said.startswith("the whole file is one sentence of 21 words; if there are more, put an empty line behind")
    assert told(write(tmp_path / "b.tsv", ROWS, 2)) == []  # such as a sentence with an abbreviation
    assert told(write(tmp_path / "c.tsv", ROWS, 3, "\n")) == []


def test_long_sentences_all_through(tmp_path):
    assert told(write(tmp_path / "a.tsv", ["Rome\tB-LOC", *["x\tO"] * 249], 3, "\n")) == []
    [said] = told(write(tmp_path / "b.tsv", ["Rome\tB-LOC", *["x\tO"] * 250], 3, "\n"))
    assert said.startswith("the whole file has sentences of 251 words; if there are more")


def test_other_formats_know_their_sentences(tmp_path):
    words = ", ".join(f'"w{i}"' for i in range(60))
    path = tmp_path / "train-en.json"
    tags = ", ".join(['"O"'] * 59 + ['"B-LOC"'])
    path.write_text(f'{{"tokens": [{words}], "ner_tags": [{tags}]}}\n', "utf-8")
    assert check_data(path).items == 1
    assert told(path) == []
