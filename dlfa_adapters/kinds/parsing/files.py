"""Trees in files: CoNLL-U in and out, running text as trees."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.conllu import (
    Tree,
    looks_like_conllu,
    read_conllu,
    trees_of,
    with_arcs,
    write_conllu,
)
from dlfa_adapters.data.words import split_words, word_offsets
from dlfa_adapters.kinds.parsing.tree import Arc
from dlfa_adapters.kinds.parsing.upos import TaggedWords

_GOLD_HEAD, _GOLD_DEPREL, _READ_UPOS = "GoldHead", "GoldDeprel", "ReadUPOS"


def trees_from(texts: Sequence[str], language: str | None) -> list[Tree]:
    """Lines of CoNLL-U, or a text a line, as trees whose arcs are to be found; a text without a word is left out.

    Args:
        texts: The lines.
        language: Code of the language, by which running text is split into words.

    Raises:
        DataError: If lines that begin as CoNLL-U go on as something else.
    """
    if looks_like_conllu([line for line in texts if line.strip()]):
        return trees_of(texts, "the text")
    split = [(line, split_words(line, language)) for line in (" ".join(text.split()) for text in texts)]
    return [tree_of_text(number, *each) for number, each in enumerate((each for each in split if each[1]), 1)]


def tree_of_text(number: int, text: str, words: Sequence[str]) -> Tree:
    """A text with single blanks in the form of CoNLL-U, with a number for its id, without heads and relations."""
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
        ranges and empty nodes. Parts of speech that a tagger gave the parser stand where there are none.
    """
    sentences = [TaggedWords(tuple(tree.words), tuple(tree.tags or ())) for tree in trees]
    completed = parser.completed(sentences)
    parsed = parser.run(parser.encode_completed(completed), on_progress=on_progress)
    rows = []
    for tree, (_, upos), arcs in zip(trees, completed, parsed, strict=True):
        heads, deprels = [arc.head for arc in arcs], [arc.deprel for arc in arcs]
        done = with_arcs(tree, heads, deprels)
        for node, name in zip(done.nodes, upos, strict=True):
            node[3] = name if node[3] == "_" else node[3]
        lines = [*done.comments, *("\t".join(row) for row in done.rows), ""]
        rows.append(
            {"id": tree.id, "words": tree.words, "heads": heads, "deprels": deprels, "conllu": "\n".join(lines)}
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
        comments = [*([f"# sent_id = {name}"] if own_ids else []), f"# text = {' '.join(words)}"]
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
