"""Parallel text of several pairs of languages: which files are meant, and what is read of them."""

import pytest

from dlfa_adapters.data.parallel import find_parallel, languages_in, read_parallel_text
from dlfa_adapters.ground.errors import DataError


@pytest.fixture
def folder(tmp_path):
    def write(name, lines):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    write("news.en-de.tsv", ["a\tA", "b\tB"])
    write("tatoeba.swh-eng.swh", ["moja", "mbili", " ", "moja", "tatu"])
    write("tatoeba.swh-eng.eng", ["one", "two", "three", "uno", "three"])
    write("tatoeba.fra-eng.fra", ["un"])  # its other side is not there
    write("README.md", ["This is no text."])
    (tmp_path / "raw").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("en-de", ("en", "de")),
        ("tatoeba.deu-eng", ("deu", "eng")),
        ("flores_eng_Latn-swh_Latn", ("eng_Latn", "swh_Latn")),
        ("yacle.test.freq.2k.en-ru", ("en", "ru")),
        ("news-2024.en-tr", ("en", "tr")),
        ("sentences", None),
        ("en-de-fr", ("de", "fr")),
    ],
)
def test_languages_in_a_name(name, languages):
    assert languages_in(name) == languages


def test_what_is_in_a_folder(folder):
    found = find_parallel([folder])
    assert [(each.name, [path.name for path in each.files]) for each in found] == [
        ("en-de", ["news.en-de.tsv"]),
        ("swh-eng", ["tatoeba.swh-eng.swh", "tatoeba.swh-eng.eng"]),
    ]


def test_files_are_named_by_languages_or_as_told(folder):
    found = find_parallel([f"news={folder}/news.en-de.tsv", folder / "tatoeba.swh-eng"])
    assert [each.name for each in found] == ["news", "swh-eng"]
    (folder / "x=y.txt").write_text("a\tA\n", "utf-8")
    assert [each.name for each in find_parallel([str(folder / "x=y.txt")])] == ["x=y"]


def test_two_files_are_read_line_by_line_and_each_sentence_once(folder):
    [files] = find_parallel([folder / "tatoeba.swh-eng"])
    text = read_parallel_text(files)
    assert text.pairs == [("moja", "one"), ("mbili", "two"), ("tatu", "three")]
    assert text.left_out == {"blank": 1, "repeated": 1}
    assert read_parallel_text(files, 2).pairs == text.pairs[:2]
    [columns] = find_parallel([folder / "news.en-de.tsv"])
    assert read_parallel_text(columns).pairs == [("a", "A"), ("b", "B")]


def test_what_cannot_be_read(folder):
    (folder / "tatoeba.swh-eng.eng").write_text("one\n", "utf-8")
    [files] = find_parallel([folder / "tatoeba.swh-eng"])
    with pytest.raises(DataError, match=r"swh-eng\.eng: expected a line for each of the 5 .*, got 1"):
        read_parallel_text(files)
    (folder / "news.en-de.tsv").write_text("a\tA\na\tB\n", "utf-8")
    [files] = find_parallel([folder / "news.en-de.tsv"])
    with pytest.raises(DataError, match=r"two or more pairs .* got 1"):
        read_parallel_text(files)
    with pytest.raises(DataError, match=r"both swh-eng; type NAME=FILE"):
        find_parallel([folder, folder / "tatoeba.swh-eng"])
    for place in ("nothing", "tatoeba.fra-eng", "x=nothing.tsv"):
        with pytest.raises(DataError, match="expected a file, a folder, or what two files"):
            find_parallel([folder / place])
    with pytest.raises(DataError, match=r"raw: expected files of a sentence, a TAB"):
        find_parallel([folder / "raw"])
