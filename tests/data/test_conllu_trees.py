"""Trees of CoNLL-U: what is wrong with one and on which line, and other arcs with everything else as it was."""

import copy
import io

import pytest

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.readers import Tree, read_conllu, trees_of, with_arcs, write_conllu
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.ground.errors import DataError

# Everything that the format has: a range, an empty node, comments, features, enhanced arcs, MISC, a word with a blank.
SUE = """# newdoc id = d1
# sent_id = s1
# text = Sue aime du vin et Paul 1 000 bières.
1	Sue	Sue	PROPN	NNP	Gender=Fem|Number=Sing	2	nsubj	2:nsubj	_
2	aime	aimer	VERB	V	Mood=Ind|VerbForm=Fin	0	root	0:root	Gloss=like
3-4	du	_	_	_	_	_	_	_	_
3	de	de	ADP	_	_	5	case	5:case	_
4	le	le	DET	_	Definite=Def	5	det	5:det	_
5	vin	vin	NOUN	_	_	2	obj	2:obj	_
6	et	et	CCONJ	_	_	7	cc	7.1:cc	_
7	Paul	Paul	PROPN	_	_	2	conj	7.1:nsubj	_
7.1	aime	aimer	VERB	_	_	_	_	2:conj:et	CopyOf=2
8	1 000	1000	NUM	_	NumType=Card	9	nummod	9:nummod	_
9	bières	bière	NOUN	_	_	7	orphan	7.1:obj	SpaceAfter=No
10	.	.	PUNCT	_	_	2	punct	2:punct	_

"""


def put(folder, text, name="x-ud-test.conllu"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows(*arcs, before=""):
    lines = [f"{i}\tw{i}\t_\tNOUN\t_\t_\t{head}\t{deprel}\t_\t_\n" for i, (head, deprel) in enumerate(arcs, 1)]
    return f"{before}{''.join(lines)}\n"


def test_a_tree_with_everything_that_the_format_has():
    (tree,) = trees_of(SUE.split("\n"))
    assert tree.wrong == ""
    assert (len(tree.rows), len(tree.nodes), tree.lines) == (12, 10, [4, 5, 7, 8, 9, 10, 11, 13, 14, 15])
    assert tree.words[7] == "1 000"


BAD = [
    ([("2", "a"), ("0", "root"), ("0", "root")], 6, "expected one word with head 0, the root, but got 2: words 2, 3"),
    (
        [("0", "root"), ("3", "a"), ("2", "a")],
        5,
        "expected heads that lead to the root, but words 2, 3 are heads of one",
    ),
    ([("0", "root"), ("2", "a")], 5, "expected another word as the head of word 2, but got itself"),
    ([("0", "root"), ("_", "a")], 5, "expected a head in column 7, but got '_'"),
    ([("0", "root"), ("1", "_")], 5, "expected a relation in column 8, but got '_'"),
]


@pytest.mark.parametrize(("arcs", "line", "message"), BAD)
def test_what_is_no_tree_is_told_with_file_and_line(tmp_path, arcs, line, message):
    path = put(tmp_path, rows(("0", "root")) + rows(*arcs, before="# text = x\n") + rows(("0", "root")))
    good, bad, last = read_conllu(path).items
    assert (good.wrong, last.wrong) == ("", "")
    assert bad.wrong.startswith(f"{path}, line {line}: {message}")


def test_a_head_outside_the_sentence_is_refused_at_once_and_told_by_a_check(tmp_path):
    path = put(tmp_path, rows(("0", "root"), ("4", "a"), ("x", "a")))
    message = r"line 2: expected a head in 0..3 or _ in column 7, but got '4'"
    with pytest.raises(DataError, match=message):
        read_conllu(path)
    read = read_conllu(path, strict=False)
    assert [(p.line, p.kind) for p in read.problems] == [(2, "head"), (3, "head")]
    assert read.items[0].wrong == f"{path}, {message}"


def test_heads_that_make_no_tree_are_a_warning_where_tags_are_read(tmp_path):
    path = put(tmp_path, rows(("2", "a"), ("1", "a")) + rows(("0", "root")) + rows(("0", "root"), ("0", "root")))
    assert load_data(path, task="pos")["tags"] == [["NOUN", "NOUN"], ["NOUN"], ["NOUN", "NOUN"]]
    (problem,) = (problem for problem in check_data(path).problems if problem.kind == "no_tree")
    assert (problem.level, problem.line, problem.kind) == ("warning", 1, "no_tree")
    assert "2 (lines 1, 7; the first is 'expected heads that lead to the root" in problem.message


@pytest.mark.parametrize("arcs", [[("_", "_"), ("_", "_")], [("0", "root"), ("_", "_")]])
def test_missing_heads_are_no_matter_where_tags_are_read(tmp_path, arcs):
    assert read_conllu(put(tmp_path, rows(*arcs))).problems == []


def test_lines_that_are_no_conllu():
    with pytest.raises(DataError, match="the given lines, line 2: expected 10 columns"):
        trees_of(["1\ta\t_\t_\t_\t_\t_\t_\t_\t_", "2\tb"])
    assert trees_of([]) == trees_of(["", "# only a comment"]) == []


HEADS = [5, 5, 5, 1, 0, 5, 6, 6, 8, 5]
DEPRELS = ["nsubj", "obj", "case", "det", "root", "cc", "conj:et", "nummod", "obl", "punct"]


def test_other_arcs_and_all_else_byte_by_byte(tmp_path):
    path = put(tmp_path, SUE)
    (tree,) = read_conllu(path).items
    before = copy.deepcopy(tree)
    done = with_arcs(tree, HEADS, DEPRELS)
    assert tree == before
    assert (done.heads(), done.deprels()) == (HEADS, DEPRELS)
    write_conllu(tmp_path / "out.conllu", [done])
    old, new = (file.read_text("utf-8").split("\n") for file in (path, tmp_path / "out.conllu"))
    assert [without_arc(line) for line in old] == [without_arc(line) for line in new]
    (again,) = read_conllu(tmp_path / "out.conllu").items
    assert (again.heads(), again.deprels(), again.wrong) == (HEADS, DEPRELS, "")
    ranges = [row for row in again.rows if row not in again.nodes]
    assert ranges == [row for row in tree.rows if row not in tree.nodes]


def without_arc(line):
    row = line.split("\t")
    return row[:6] + row[8:] if row[0].isdigit() else row


def test_other_arcs_mend_a_tree_and_must_be_as_many_as_there_are_words():
    (tree,) = trees_of(rows(("2", "a"), ("1", "a")).split("\n"))
    assert tree.wrong
    assert with_arcs(tree, [0, 1], ["root", "a"]).wrong == ""
    for heads in ([0], [0, 1, 1]):
        with pytest.raises(ValueError, match=r"argument 2 is (shorter|longer)"):
            with_arcs(tree, heads, ["a"] * len(heads))


def test_what_is_written_keeps_the_rules_of_universal_dependencies(tmp_path):
    """Levels 1 and 2 of the official validator: the format, and what holds for every treebank."""
    udtools = pytest.importorskip("udtools")

    def errors(tree: Tree) -> str:
        write_conllu(tmp_path / "out.conllu", [tree])
        told = io.StringIO()
        udtools.Validator(lang="ud", level=2, output=told).validate_files([str(tmp_path / "out.conllu")])
        return told.getvalue()

    (tree,) = trees_of(SUE.split("\n"))
    assert errors(tree) == ""
    assert errors(with_arcs(tree, HEADS, DEPRELS)) == ""
    assert "multiple-roots" in errors(with_arcs(tree, [0, *HEADS[1:]], ["root", *DEPRELS[1:]]))  # it does look
