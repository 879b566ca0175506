"""UAS and LAS equal those of the official evaluation of the CoNLL 2018 shared task, on files as we write them."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.data.readers import read_conllu, trees_of, with_arcs, write_conllu
from dlfa_adapters.kinds.parsing.attachment import AttachmentScore
from dlfa_adapters.kinds.parsing.tree import Arc

udeval = pytest.importorskip("udtools.udeval")  # of the extra `test`

RELATIONS = ["nsubj", "nsubj:pass", "obj", "obl", "obl:tmod", "punct", "acl:relcl:x", "dep"]
UPOS = ["NOUN", "VERB", "PUNCT", "SYM", "X"]
FORMS = st.text("aAéß語.-’\u00a0 ", min_size=1).map(str.strip).filter(bool)


@st.composite
def heads(draw, count):
    """A tree: in some order each word depends on one before it."""
    order = draw(st.permutations(range(1, count + 1)))
    found = {word: order[draw(st.integers(0, i - 1))] if i else 0 for i, word in enumerate(order)}
    return [found[word] for word in range(1, count + 1)]


@st.composite
def sentences(draw):
    """Rows with ranges and empty nodes, the gold arcs, and others."""
    count = draw(st.integers(1, 12))
    sides = []
    for _ in range(2):
        tree = draw(heads(count))
        sides.append([(head, draw(st.sampled_from(RELATIONS)) if head else "root") for head in tree])
    gold, other = sides
    rows, range_until = [], 0
    for i in range(1, count + 1):
        if i > range_until and draw(st.integers(0, 4)) == 0:
            range_until = min(count, i + draw(st.integers(0, 2)))
            rows.append([f"{i}-{range_until}", draw(FORMS), *["_"] * 8])
        head, deprel = gold[i - 1]
        upos = draw(st.sampled_from(UPOS))
        rows.append([str(i), draw(FORMS), "_", upos, "_", "_", str(head), deprel, "_", "_"])
        if draw(st.integers(0, 9)) == 0:
            rows.append([f"{i}.1", draw(FORMS), *["_"] * 6, f"{i}:dep", "_"])
    lines = ["\t".join(row) for row in rows]
    return [*lines, ""], gold if draw(st.integers(0, 3)) == 0 else other


def official(gold_text, system_text):
    representations = [udeval.load_conllu(io.StringIO(text), "x", {}) for text in (gold_text, system_text)]
    return udeval.evaluate(*representations)


def arcs_of(trees):
    return [[Arc(*arc) for arc in zip(t.heads(), t.deprels(), t.tags, strict=True)] for t in trees]


@settings(deadline=None, max_examples=150)
@given(st.lists(sentences(), min_size=1, max_size=4), st.data())
def test_equal_on_random_trees(tmp_path_factory, drawn, data):
    folder = tmp_path_factory.mktemp("trees")
    gold = trees_of([line for lines, _ in drawn for line in lines])
    system = []
    for tree, (_, arcs) in zip(gold, drawn, strict=True):
        same = data.draw(st.lists(st.booleans(), min_size=len(arcs), max_size=len(arcs)))  # relations taken from gold
        deprels = [
            own if keep and head and own != "root" else deprel
            for (head, deprel), own, keep in zip(arcs, tree.deprels(), same, strict=True)
        ]
        system.append(with_arcs(tree, [head for head, _ in arcs], deprels))
    for name, trees in (("gold", gold), ("system", system)):
        write_conllu(folder / name, trees)
    texts = [(folder / name).read_text("utf-8") for name in ("gold", "system")]
    expected = official(*texts)
    read = [arcs_of(read_conllu(folder / name).items) for name in ("gold", "system")]
    result = AttachmentScore().compute(predictions=read[1], references=read[0])
    assert result["uas"] == pytest.approx(expected["UAS"].f1, abs=1e-12)
    assert result["las"] == pytest.approx(expected["LAS"].f1, abs=1e-12)
    assert result["support"] == expected["Words"].gold_total
    assert expected["Words"].f1 == 1.0
