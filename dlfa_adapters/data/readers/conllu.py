"""CoNLL-U, the format of Universal Dependencies: ten columns, multiword ranges, empty nodes, comments.

https://universaldependencies.org/format.html. Only rows with a whole number as id are words. Ranges (`1-2 du`) and
empty nodes (`8.1`) are stored in the sentence, so that `write_conllu` gives the file back unchanged.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.lines import read_lines, write_lines
from dlfa_adapters.data.readers.roles import Column, resolve_column
from dlfa_adapters.data.trees import wrong_in_tree
from dlfa_adapters.ground.errors import DataError

COLUMNS = tuple("ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split())
_NUMBER = "[1-9][0-9]{0,8}"
_ID = re.compile(rf"({_NUMBER})(?:-({_NUMBER}))?|(0|{_NUMBER})\.({_NUMBER})")
_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(.*)")


@dataclass(slots=True)
class Tree(Sentence):
    """A sentence of a treebank.

    Attributes:
        rows: All rows, ranges and empty nodes among them, ten fields each.
        comments: The comment lines, `#` included.
        nodes: The rows that are words.
        wrong: With file and line, why a parser cannot learn from it: a head or relation is missing, heads make no tree;
            "" if nothing is wrong.
    """

    rows: list[list[str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    nodes: list[list[str]] = field(default_factory=list)
    wrong: str = field(default="", compare=False)

    def heads(self) -> list[int]:
        """Head of each word, 0 for the root; -1 where the file has `_`."""
        return [int(node[6]) if node[6] != "_" else -1 for node in self.nodes]

    def deprels(self, subtypes: bool = True) -> list[str]:
        """Relation of each word, with (`nsubj:pass`) or without (`nsubj`) its subtype."""
        return [node[7] if subtypes else node[7].split(":")[0] for node in self.nodes]

    def surface_words(self) -> list[str]:
        """The words as written, each multiword range as one (`du`, not `de` and `le`)."""
        out = []
        covered = 0
        for row in self.rows:
            first, _, last = row[0].partition("-")
            if last:
                covered = int(last)
                out.append(row[1])
            elif "." not in first and int(first) > covered:
                out.append(row[1])
        return out


def read_conllu(path: str | Path, *, tag_column: Column | None = None, strict: bool = True) -> Read[Sentence]:
    """Read a CoNLL-U file; the tags are the universal parts of speech.

    Args:
        path: The file.
        tag_column: Another column of tags, from 0, or its name in the format: `xpos`, `deprel`.
        strict: Whether the first bad row raises.

    Returns:
        `Tree` items. Ranges and empty nodes are counted in `dropped`, as rows that are no words.

    Raises:
        DataError: The file cannot be read, or (when strict) a row breaks the format: not ten columns, an id out of
            order, a head that is no word of the sentence.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    tag = 3 if tag_column is None else resolve_column(path, tag_column, "tag_column", COLUMNS)
    items: list[Sentence] = [*_trees(lines, tag, notes)]
    if lines and not items:
        notes.warn(None, "empty", "there is no sentence in the file")
    notes.warn_collected("no_tree", "sentences whose heads make no tree, as a parser needs it")
    layout = f"CoNLL-U; word (FORM), tag ({COLUMNS[tag]})"
    return Read(items, "conllu", path, notes.problems, notes.dropped, None, 1, tag, layout=layout)


def trees_of(lines: Sequence[str], name: str = "the given lines") -> list[Tree]:
    """The sentences in lines of CoNLL-U, as `read_conllu` reads them.

    Args:
        lines: The lines, without line ends.
        name: What they are called in an error.

    Raises:
        DataError: A row breaks the format.
    """
    return _trees(lines, 3, Notes(name))


def looks_like_conllu(lines: Sequence[str]) -> bool:
    """Whether the first of some lines that is no comment is a row of CoNLL-U."""
    row = next((line for line in lines if not line.startswith("#")), "").split("\t")
    return len(row) == 10 and row[0].split("-")[0] in ("1", "0.1")


def with_arcs(tree: Tree, heads: Sequence[int], deprels: Sequence[str]) -> Tree:
    """A tree with other heads and relations, and everything else as it is; the given one is left alone.

    Args:
        tree: The tree.
        heads: The head of each word, 0 for the root.
        deprels: The relation of each word.
    """
    rows = zip(tree.nodes, heads, deprels, strict=True)
    nodes = [[*row[:6], str(head), deprel, *row[8:]] for row, head, deprel in rows]
    changed = dict(zip(map(id, tree.nodes), nodes, strict=True))
    return replace(tree, rows=[changed.get(id(row), row) for row in tree.rows], nodes=nodes, wrong="")


def write_conllu(path: str | Path, trees: Iterable[Sentence]) -> None:
    """Write trees with their comments, ranges and empty nodes: a file in its normal form comes back byte by byte.

    Args:
        path: The file to write.
        trees: `Tree` items.

    Raises:
        DataError: A field holds a TAB or a line end.
        TypeError: An item is no `Tree`.
    """
    lines: list[str] = []
    for tree in trees:
        if not isinstance(tree, Tree):
            raise TypeError(f"expected a Tree from read_conllu, but got {type(tree).__name__}")
        if any("\t" in field for row in tree.rows for field in row):
            raise DataError(f"{path}: sentence {tree.id} has a TAB inside a word or another field")
        lines += tree.comments
        lines += ["\t".join(row) for row in tree.rows]
        lines.append("")
    write_lines(path, lines)


def _trees(lines: Sequence[str], tag: int, notes: Notes) -> list[Tree]:
    items: list[Tree] = []
    tree = Tree([], [], "")
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip(" \t"):
            if tree.rows:
                _finish(tree, len(items), tag, notes)
                items.append(tree)
                tree = Tree([], [], "")
            elif tree.comments and number > len(lines):
                notes.drop("comment_without_sentence", len(tree.comments))
        elif line[0] == "#" and not tree.rows:
            tree.comments.append(line)
        else:
            _add_row(tree, line, number, notes)
    return items


def _add_row(tree: Tree, line: str, number: int, notes: Notes) -> None:
    row = line.split("\t")
    match = _ID.fullmatch(row[0])
    if len(row) != 10:
        notes.bad_row(
            number, "columns", f"expected 10 columns with TABs between them, but got {len(row)}: {shown(line)}"
        )
        return
    if match is None:
        notes.bad_row(number, "id", f"expected an id like 3, 3-4 or 3.1 in column 1, but got {shown(row[0])}")
        return
    words = len(tree.nodes)
    first, last, after, _ = match.groups()
    if after is not None:
        in_order = int(after) == words
        notes.drop("empty_node")
    elif last is not None:
        in_order = int(first) == words + 1 and int(last) >= int(first)
        notes.drop("multiword_range")
    else:
        in_order = int(first) == words + 1
        tree.nodes.append(row)
        tree.lines.append(number)
    if not in_order:
        notes.error(number, "id", f"expected the id that follows word {words}, but got {shown(row[0])}")
    tree.rows.append(row)


def _finish(tree: Tree, index: int, tag: int, notes: Notes) -> None:
    """Fill in words, tags and id, and check the heads, which may point forward, now that the sentence is complete."""
    tree.words = [node[1] for node in tree.nodes]
    tree.tags = [node[tag] for node in tree.nodes]
    matches = (_SENT_ID.match(comment) for comment in tree.comments)
    own = next((match[1].strip() for match in matches if match), "")
    tree.id, tree.own_id = own or str(index), bool(own)
    _check_arcs(tree, notes)


def _check_arcs(tree: Tree, notes: Notes) -> None:
    """Record heads that are no words of the sentence, and say in `wrong` what keeps a parser from the tree."""

    def tell(line: int, reason: str) -> None:
        tree.wrong = tree.wrong or f"{notes.path}, line {line}: {reason}"

    count = len(tree.nodes)
    rows = list(zip(tree.lines, tree.nodes, strict=True))
    for line, node in rows:
        head = node[6]
        if head != "_" and not (head.isascii() and head.isdigit() and len(head) < 10 and int(head) <= count):
            reason = f"expected a head in 0..{count} or _ in column 7, but got {shown(head)}"
            notes.error(line, "head", reason)
            tell(line, reason)
    for line, node in rows:
        for column, what in ((6, "head"), (7, "relation")):
            if node[column] == "_":
                tell(line, f"expected a {what} in column {column + 1}, but got '_'")
    if not tree.wrong and (wrong := wrong_in_tree(tree.heads())):
        tell(tree.lines[wrong[0]], wrong[1])
        notes.collect("no_tree", tree.lines[wrong[0]], wrong[1])
