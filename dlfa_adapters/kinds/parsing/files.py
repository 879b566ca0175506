"""Trees in files and on pages: CoNLL-U in and out, running text as trees, and what a page shows of them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import read_conllu, write_conllu
from dlfa_adapters.data.readers.conllu import Tree
from dlfa_adapters.data.words import split_words, word_offsets
from dlfa_adapters.kinds.parsing.kind import TaggedWords
from dlfa_adapters.kinds.parsing.tree import Arc, cut_subtype
from dlfa_adapters.kinds.shown import MOST_WORDS, Segment, ShownLine, direction, join_words

_GOLD_HEAD, _GOLD_DEPREL, _READ_UPOS = "GoldHead", "GoldDeprel", "ReadUPOS"


def trees_from(texts: Sequence[str], language: str | None) -> list[Tree]:
    """A text a line as trees without arcs; a line without a word is left out.

    Args:
        texts: The lines.
        language: Code of the language, by which running text is split into words.
    """
    split = [(line, split_words(line, language)) for line in (" ".join(text.split()) for text in texts)]
    return [tree_of_text(number, *each) for number, each in enumerate((each for each in split if each[1]), 1)]


def tree_of_text(number: int, text: str, words: Sequence[str]) -> Tree:
    """A text in the form of CoNLL-U, without heads and relations.

    Args:
        number: Its id.
        text: The text, with single blanks.
        words: Its words.
    """
    offsets = word_offsets(text, words)
    behind = [*(start for start, _ in offsets[1:]), len(text) + 1]
    rows = [
        [str(i), word, *["_"] * 7, "SpaceAfter=No" if stop == after else "_"]
        for i, (word, (_, stop), after) in enumerate(zip(words, offsets, behind, strict=True), 1)
    ]
    comments = [f"# sent_id = {number}", f"# text = {text}"]
    return Tree(list(words), ["_"] * len(words), str(number), rows=rows, comments=comments, nodes=rows, own_id=True)


def answers(parser: Any, trees: Sequence[Tree], on_progress: Callable[[int], None]) -> list[dict[str, Any]]:
    """What a parser says of trees.

    Returns:
        For each `id`, `words`, `heads`, `deprels`, and as `conllu` the sentence with all its other columns, comments,
        ranges and empty nodes.
    """
    upos = [tree.tags or [""] * len(tree.words) for tree in trees]
    parsed = parser.predict([tree.words for tree in trees], upos, on_progress=on_progress)
    rows = []
    for tree, arcs in zip(trees, parsed, strict=True):
        lines = [*tree.comments, *("\t".join(row) for row in _with_arcs(tree, arcs)), ""]
        rows.append(
            {
                "id": tree.id,
                "words": tree.words,
                "heads": [arc.head for arc in arcs],
                "deprels": [arc.deprel for arc in arcs],
                "conllu": "\n".join(lines),
            }
        )
    return rows


def write_trees(path: Path, predicted: Any) -> None:
    """Write trees with predicted heads and relations; the gold ones stand in the last column."""
    trees = []
    own_ids = predicted.own_ids is not False
    rows = zip(predicted.ids, predicted.inputs, predicted.gold, predicted.predicted, strict=True)
    for name, (words, upos), gold, guess in rows:
        fields = [
            [
                *(str(i), word, "_", right.upos, "_", "_", str(arc.head), arc.deprel, "_"),
                _misc(right, read),
            ]
            for i, (word, read, right, arc) in enumerate(zip(words, upos, gold, guess, strict=True), 1)
        ]
        comments = [f"# sent_id = {name}"] if own_ids else []
        trees.append(Tree(list(words), list(upos), name, rows=fields, comments=comments, nodes=fields))
    write_conllu(path, trees)


def _misc(gold: Arc, read: str) -> str:
    other = [f"{_READ_UPOS}={read}"] if read != gold.upos else []
    return "|".join([f"{_GOLD_HEAD}={gold.head}", f"{_GOLD_DEPREL}={gold.deprel}", *other])


def read_trees(path: Path) -> dict[str, Any]:
    """What `write_trees` wrote."""
    trees: list[Any] = read_conllu(path).items
    inputs, gold = [], []
    for tree in trees:
        told = [dict(each.split("=", 1) for each in node[9].split("|")) for node in tree.nodes]
        arcs = [Arc(int(t[_GOLD_HEAD]), t[_GOLD_DEPREL], node[3]) for t, node in zip(told, tree.nodes, strict=True)]
        gold.append(arcs)
        read = tuple(t.get(_READ_UPOS, arc.upos) for t, arc in zip(told, arcs, strict=True))
        inputs.append(TaggedWords(tuple(tree.words), read))
    return {
        "ids": [tree.id for tree in trees],
        "inputs": inputs,
        "gold": gold,
        "placeholder": [False] * len(trees),
        "predicted": [list(map(Arc, tree.heads(), tree.deprels())) for tree in trees],
    }


def _with_arcs(tree: Tree, arcs: Sequence[Arc]) -> Iterator[list[str]]:
    """The rows of a tree with heads and relations in them; ranges and empty nodes as they are."""
    left = iter(arcs)
    for row in tree.rows:
        if row[0].isdigit():
            arc = next(left)
            yield [*row[:6], str(arc.head), arc.deprel, *row[8:]]
        else:
            yield row


def tree_line(words: Sequence[str], gold: Sequence[Arc], predicted: Sequence[Arc], language: str) -> ShownLine:
    """Words with the model's arcs, and the gold one where it is another one."""

    def named(arc: Arc) -> str:
        return f"{arc.deprel} ← {words[arc.head - 1] if arc.head else '·'}"

    segments = []
    for word, right, arc in list(zip(words, gold, predicted, strict=True))[:MOST_WORDS]:
        same = arc.head == right.head and cut_subtype(arc.deprel) == cut_subtype(right.deprel)
        segments.append(Segment(word, kind=named(arc), right=same, other="" if same else named(right)))
    return ShownLine("", segments, direction(join_words(words, language)), max(0, len(words) - MOST_WORDS))
