"""What is written of trees keeps the rules of Universal Dependencies: levels 1 and 2 of the official validator."""

import io
import re
from types import SimpleNamespace

import pytest

from dlfa_adapters.data.readers import with_arcs, write_conllu
from dlfa_adapters.kinds.parsing.files import read_trees, trees_from, write_trees
from dlfa_adapters.kinds.parsing.tree import Arc
from dlfa_adapters.kinds.parsing.upos import TaggedWords

udtools = pytest.importorskip("udtools")  # of the extra `test`

TEXTS = [
    "Amina alisafiri hadi Kigali.",
    "  Don't stop,  he said (twice) … ok? ",
    "我喜欢北京。",
    "こんにちは 世界",
    "مرحبا بالعالم!",
    "x\u00a0y\u2003z 3 000 km",
    "A",
]


def broken(path, level=2):
    """The rules that a file breaks."""
    told = io.StringIO()
    udtools.Validator(lang="ud", level=level, output=told).validate_files([str(path)])
    return set(re.findall(r"\[L\d \w+ ([\w-]+)\]", told.getvalue()))


def flat(words):
    return [0, *[1] * (words - 1)], ["root", *["dep"] * (words - 1)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_texts(tmp_path, language):
    """But for parts of speech, which a parser does not find; a tagger may."""
    trees = [with_arcs(tree, *flat(len(tree.nodes))) for tree in trees_from(TEXTS, language)]
    assert len(trees) == len(TEXTS)
    path = tmp_path / "out.conllu"
    write_conllu(path, trees)
    assert broken(path, level=1) == set()
    assert broken(path) == {"unknown-upos"}
    for tree in trees:
        for node in tree.nodes:
            node[3] = "X"
    write_conllu(path, trees)
    assert broken(path) == set()


def test_predictions_with_their_gold(tmp_path):
    path = tmp_path / "en.conllu"
    words, upos = ("She", "was", "seen", "."), ("PRON", "AUX", "VERB", "PUNCT")
    gold = [
        Arc(head, name, tag)
        for head, name, tag in zip((3, 3, 0, 3), ("nsubj:pass", "aux", "root", "punct"), upos, strict=True)
    ]
    guess = [Arc(2, "nsubj"), Arc(0, "root"), Arc(2, "xcomp"), Arc(2, "punct")]
    sentence = TaggedWords(words, ("X", *upos[1:]))
    write_trees(path, SimpleNamespace(ids=["s-1"], own_ids=True, inputs=[sentence], gold=[gold], predicted=[guess]))
    assert broken(path) == set()
    back = read_trees(path)
    assert (back["ids"], back["inputs"], back["gold"], back["predicted"]) == (["s-1"], [sentence], [gold], [guess])
