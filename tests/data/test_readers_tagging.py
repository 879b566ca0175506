"""Readers of tagging files: what a word is, what a sentence is, and that nothing goes missing (CASES C01, C06-C08)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dlfa_adapters
from dlfa_adapters.data.readers import (
    read_columns,
    read_conllu,
    read_file,
    read_wikiann,
    read_words,
    write_columns,
    write_conllu,
    write_wikiann,
)
from dlfa_adapters.data.readers.base import Sentence
from dlfa_adapters.ground.errors import DataError


def put(tmp_path, text, name="test-en.tsv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(read):
    return [list(zip(item.words, item.tags, strict=True)) for item in read.items]


FRENCH = """# sent_id = fr-1
# text = du vin bu.
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet:poss\t_\t_
3\tvin\tvin\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No
3.1\tbu\tboire\tVERB\t_\t_\t_\t_\t3:x\t_
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

"""


def test_c01_ranges_and_empty_nodes_are_no_words(tmp_path):
    path = put(tmp_path, FRENCH, "fr_x-ud-test.conllu")
    read = read_file(path)
    (tree,) = read.items
    assert read.format == "conllu"
    assert tree.words == ["de", "le", "vin", "."]
    assert tree.tags == ["ADP", "DET", "NOUN", "PUNCT"]
    assert tree.heads() == [3, 3, 0, 3]
    assert tree.deprels() == ["case", "det:poss", "root", "punct"]
    assert tree.deprels(subtypes=False) == ["case", "det", "root", "punct"]
    assert tree.surface_words() == ["du", "vin", "."]
    assert tree.id == "fr-1"
    assert tree.lines == [4, 5, 6, 8]
    assert read.dropped == {"multiword_range": 1, "empty_node": 1}
    write_conllu(tmp_path / "back.conllu", read.items)
    assert (tmp_path / "back.conllu").read_bytes() == path.read_bytes()


def test_c06_wikiann_prefixes(tmp_path):
    text = "en:Rome\tB-LOC\nen:12:30\tO\nen::\tO\nzh-min-nan:Tâi\tB-LOC\nsimple:St\tB-LOC\nen:\tO\nplain\tO\n\n"
    path = put(tmp_path, text)
    read = read_file(path)
    assert read.format == "wikiann"
    (sentence,) = read.items
    assert sentence.words == ["Rome", "12:30", ":", "Tâi", "St", "", "plain"]
    assert sentence.tags == ["B-LOC", "O", "O", "B-LOC", "B-LOC", "O", "O"]
    assert [(p.kind, p.line) for p in read.problems] == [("prefix", 7)]
    write_wikiann(tmp_path / "back.tsv", read.items)
    assert (tmp_path / "back.tsv").read_text(encoding="utf-8") == text


def test_wikiann_language_of_a_sentence_and_file_without_prefixes(tmp_path):
    read = read_wikiann(put(tmp_path, "de:Bonn\tB-LOC\nde:am\tO\n\nfr:ici\tO\nfr:est\tO\n"))
    assert [item.language for item in read.items] == ["de", "fr"]
    bare = read_wikiann(put(tmp_path, "is:this\tO\nRome\tB-LOC\nhere\tO\n"))
    assert bare.items[0].words == ["is:this", "Rome", "here"]
    assert bare.problems == []


def test_c07_hash_words_and_docstart(tmp_path):
    text = "#\tO\n#Rome\tB-LOC\nmet\tO\n\n-DOCSTART-\tO\n\n-DOCSTART-\tO\nBob\tB-PER\n\n"
    read = read_columns(put(tmp_path, text))
    assert pairs(read) == [[("#", "O"), ("#Rome", "B-LOC"), ("met", "O")], [("Bob", "B-PER")]]
    assert read.dropped == {"docstart_marker": 2}


def test_c07_docstart_inside_a_sentence_is_a_word(tmp_path):
    read = read_columns(put(tmp_path, "the\tO\n-DOCSTART-\tO\nrow\tO\n"))
    assert read.items[0].words == ["the", "-DOCSTART-", "row"]


def test_c07_conllu_comment_with_a_tab_and_hash_word(tmp_path):
    read = read_conllu(put(tmp_path, "# text = a\tb\n1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_\n\n", "x.conllu"))
    assert [(item.words, item.tags) for item in read.items] == [(["#"], ["SYM"])]
    assert read.items[0].comments == ["# text = a\tb"]


BASE = "Anna\tB-PER\nmet\tO\n\nBob\tB-PER\n"
WANTED = [[("Anna", "B-PER"), ("met", "O")], [("Bob", "B-PER")]]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(BASE.rstrip("\n").encode(), id="a_no_final_newline"),
        pytest.param(b"\n\n" + BASE.replace("\n\n", "\n\n\n").encode() + b"\n\n", id="b_blank_lines"),
        pytest.param(BASE.replace("\n\n", "\n\t\n").encode(), id="c_separator_of_tabs"),
        pytest.param(BASE.replace("\n", "\r\n").encode(), id="d_crlf"),
        pytest.param(b"\xef\xbb\xbf" + BASE.encode(), id="e_bom"),
    ],
)
def test_c08_line_structure(tmp_path, data):
    read = read_file(put(tmp_path, data))
    assert pairs(read) == WANTED
    assert read.problems == []


def test_c08_empty_file_gives_nothing_and_a_warning(tmp_path):
    for reader in (read_columns, read_wikiann, read_conllu, read_words):
        read = reader(put(tmp_path, b""))
        assert read.items == []
        assert [problem.message for problem in read.problems] == ["the file is empty"]


def test_c08_bytes_that_are_not_utf8(tmp_path):
    path = put(tmp_path, b"Rome\tB-LOC\nCaf\xe9\tO\n")
    with pytest.raises(
        DataError, match=r"test-en\.tsv, line 2: expected UTF-8, but got byte 0xE9 at position 4; convert"
    ):
        read_columns(path)
    loose = read_columns(path, strict=False)
    assert [(p.line, p.kind) for p in loose.problems] == [(2, "encoding")]


def test_c08_utf16_is_named(tmp_path):
    with pytest.raises(DataError, match="expected UTF-8, but this is UTF-16"):
        read_columns(put(tmp_path, BASE.encode("utf-16")))


def test_c08_locale_does_not_matter(tmp_path):
    path = put(tmp_path, "Café\tB-LOC\n山\tO\n")
    # The package is entered without its __init__, which imports adapters and takes seconds.
    code = (
        "import sys, types;"
        "package = sys.modules['dlfa_adapters'] = types.ModuleType('dlfa_adapters');"
        f"package.__path__ = [{str(Path(dlfa_adapters.__file__).parent)!r}];"
        "from dlfa_adapters.data.readers import read_columns;"
        f"print(ascii(read_columns({str(path)!r}).items[0].words))"
    )
    env = dict(os.environ, PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ascii(["Café", "山"])


def test_only_lf_ends_a_line_and_only_tab_a_field(tmp_path):
    words = ["26\u00a0000", "a\u2028b", "c\x0bd", "e\u0085f", '"quoted', "two words", " lead"]
    read = read_columns(put(tmp_path, "".join(f"{word}\tO\n" for word in words)))
    assert read.items[0].words == words


def test_columns_of_conll2003_and_round_trip(tmp_path):
    text = "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\nGerman JJ I-NP I-MISC\n\nPeter NNP I-NP I-PER\n\n"
    path = put(tmp_path, text, "eng.testa")
    read = read_file(path)
    assert (read.format, read.scheme, read.word_column, read.tag_column) == ("columns", "IOB1", 0, 3)
    assert pairs(read)[0] == [("EU", "B-ORG"), ("rejects", "O"), ("German", "B-MISC")]
    write_columns(tmp_path / "back", read.items, read.separator)
    assert (tmp_path / "back").read_text() == text
    pos = read_columns(path, tag_column=1)
    assert pos.items[0].tags == ["NNP", "VBZ", "JJ"]
    assert pos.scheme is None


def test_columns_numbered_words_comments_and_unused_last_columns(tmp_path):
    uner = "# sent_id = 1\n# text = Where is\n1\tWhere\tO\t-\t-\n2\tBonn\tB-LOC\t-\t-\n\n1\tx\tO\t-\t-\n"
    read = read_file(put(tmp_path, uner, "uner.iob2"))
    assert (read.word_column, read.tag_column) == (1, 2)
    assert pairs(read) == [[("Where", "O"), ("Bonn", "B-LOC")], [("x", "O")]]
    assert read.dropped == {"comment_line": 2}


def test_space_separated_masakhaner(tmp_path):
    read = read_file(put(tmp_path, "Nairobi B-LOC\nni O\n\nJina O\n", "swa.txt"))
    assert pairs(read) == [[("Nairobi", "B-LOC"), ("ni", "O")], [("Jina", "O")]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tO\nb\n", r"line 2: expected 2 columns with a TAB between them, but got 1: 'b'"),
        ("a\tO\nb\tX\tO\nc\tO\n", r"line 2: expected 2 columns with a TAB between them, but got 3: 'b\\tX\\tO'"),
        ("a\tO\n#b\n", r"line 2: expected 2 columns with a TAB between them, but got 1: '#b'"),  # it may be a word
        ("a\tO\nb\t\n", r"line 2: expected a tag in column 2, but it is empty"),
        ("a\nb\n", r"line 1: expected at least two columns .* but got 'a'; .* format='words'"),
    ],
)
def test_bad_rows_name_file_line_expected_and_got(tmp_path, text, message):
    with pytest.raises(DataError, match=r"test-en\.tsv, " + message):
        read_columns(put(tmp_path, text))


def test_column_out_of_range(tmp_path):
    with pytest.raises(DataError, match=r"expected tag_column in 0\.\.1, the file's columns, but got 2"):
        read_columns(put(tmp_path, BASE), tag_column=2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1\ta\t_\tX\t_\t_\t0\troot\t_\n", "line 1: expected 10 columns with TABs between them, but got 9"),
        ("x\ta\t_\tX\t_\t_\t0\troot\t_\t_\n", "line 1: expected an id like 3, 3-4 or 3.1 in column 1, but got 'x'"),
        ("2\ta\t_\tX\t_\t_\t0\troot\t_\t_\n", "line 1: expected the id that follows word 0, but got '2'"),
        ("1\ta\t_\tX\t_\t_\t7\troot\t_\t_\n", r"line 1: expected a head in 0\.\.1 or _ in column 7, but got '7'"),
        ("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n# late\n", "line 2: expected 10 columns"),
        ("2-3\tdu" + "\t_" * 8 + "\n", "line 1: expected the id that follows word 0, but got '2-3'"),
        ("1\ta\t_\tX\t_\t_\t0\tr\t_\t_\n2-1\tx" + "\t_" * 8 + "\n", "that follows word 1, but got '2-1'"),
        ("2.1\tbu" + "\t_" * 8 + "\n", r"line 1: expected the id that follows word 0, but got '2\.1'"),
    ],
)
def test_bad_conllu_rows(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        read_conllu(put(tmp_path, row, "x.conllu"))


def test_folder_or_missing_file(tmp_path):
    put(tmp_path, BASE)
    with pytest.raises(
        DataError, match=r"expected a file, but this is a folder; name one of its files, e\.g\. .*test-en"
    ):
        read_file(tmp_path)
    (tmp_path / "de").mkdir()
    put(tmp_path / "de", BASE).rename(tmp_path / "de" / "inner.tsv")
    (tmp_path / "test-en.tsv").unlink()
    with pytest.raises(DataError, match=r"e\.g\. .*inner\.tsv"):
        read_file(tmp_path)
    with pytest.raises(DataError, match="expected a file, but there is none of this name"):
        read_file(tmp_path / "none.tsv")


def test_words_of_xtreme_test_files(tmp_path):
    read = read_file(put(tmp_path, "Bonn\nam\n\nRhein\n"))
    assert read.format == "words"
    assert [(item.words, item.tags) for item in read.items] == [(["Bonn", "am"], None), (["Rhein"], None)]


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "", "-DOCSTART-"])
def test_writers_refuse_what_would_not_come_back(tmp_path, word):
    sentence = Sentence([word], ["" if word == "" else "O"], "0")
    with pytest.raises(DataError):
        write_columns(tmp_path / "x", [sentence])
    with pytest.raises(DataError, match="has no words"):
        write_columns(tmp_path / "x", [Sentence([], [], "0")])
    with pytest.raises(DataError, match="has a word without a tag"):
        write_wikiann(tmp_path / "x", [Sentence(["a"], None, "0")])
