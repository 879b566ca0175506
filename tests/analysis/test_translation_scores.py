"""What is counted of translated tokens: BLEU-1 against sacrebleu and by hand, the convert rate as the paper has it."""

import math
from importlib.util import find_spec

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from dlfa_adapters.analysis.translation import scores
from dlfa_adapters.analysis.translation.scores import (
    KINDS,
    PIECES,
    UNITS,
    Bleu1,
    TokenSets,
    bleu_1,
    check_units,
    convert_rate,
    token_set,
    units_of,
)
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

SETS = TokenSets(source=frozenset({1, 2, 3}), target=frozenset({3, 4, 5}))


def test_kinds_of_tokens_by_hand():
    assert KINDS == ("source", "target", "both", "neither")
    assert SETS.counts([1, 4, 4, 3, 9]) == [1, 2, 1, 1]
    assert SETS.sizes() == {"source": 3, "target": 3, "both": 1}


def test_convert_rate_by_hand():
    """Five tokens, one of them of both languages: two of four are of the target alone."""
    assert convert_rate(np.array(SETS.counts([1, 4, 4, 3, 9]))) == 0.5
    assert convert_rate(np.array([0, 3, 2, 0])) == 1.0
    assert convert_rate(np.array([2, 0, 2, 2])) == 0.0
    assert np.isnan(convert_rate(np.array([0, 0, 4, 0])))


def test_convert_rate_is_that_of_the_papers_formula():
    random = np.random.default_rng(0)
    for _ in range(50):
        source, target = (frozenset(random.choice(20, 8).tolist()) for _ in range(2))
        outputs = random.integers(25, size=30).tolist()
        above = sum(y in target - source for y in outputs)
        below = len(outputs) - sum(y in source & target for y in outputs)
        assert convert_rate(np.array(TokenSets(source, target).counts(outputs))) == pytest.approx(above / below)


def test_sentences_are_pooled():
    """1 of 1 and 0 of 3: a quarter, not a half."""
    kinds = np.array([[0, 1, 5, 0], [3, 0, 0, 0]])
    assert convert_rate(kinds.sum(0)) == 0.25
    assert convert_rate(kinds).tolist() == [1.0, 0.0]


def test_the_set_of_a_language_is_what_occurs_in_its_text():
    rows = [[5, 6, 7], [6, 7, 8], [0, 7]]
    assert token_set(rows, special=[0, 1]) == {5, 6, 7, 8}
    assert token_set(rows, special=[0, 1], least=2) == {6, 7}


def test_bleu_1_by_hand():
    """Four words of five match, "the" at most twice; the output is shorter than the reference."""
    counts = Bleu1("13a").counts(["the the the cat on"], ["the cat sat on the mat."])
    assert counts.tolist() == [[4, 5, 7]]
    assert bleu_1(counts.sum(0)) == pytest.approx(math.exp(1 - 7 / 5) * 4 / 5)
    assert bleu_1(np.array([3, 6, 4])) == 0.5  # a longer output has no penalty
    assert bleu_1(np.array([0, 0, 4])) == 0.0


@pytest.mark.parametrize("units", ["13a", "char", "zh"])
def test_bleu_1_is_that_of_sacrebleu(units):
    random, words = np.random.default_rng(1), "a b c d. e's 你好 ,".split()
    outputs, references = ([" ".join(random.choice(words, random.integers(1, 9))) for _ in range(40)] for _ in range(2))
    theirs = BLEU(max_ngram_order=1, tokenize=units).corpus_score(outputs, [references])
    ours = bleu_1(Bleu1(units).counts(outputs, references).sum(0))
    assert ours == pytest.approx(theirs.score / 100)
    assert 0.1 < ours < 0.95


def test_pieces_are_counted_as_they_are():
    assert Bleu1(PIECES).counts(["7 12 12"], ["12 7 70"]).tolist() == [[2, 3, 3]]
    assert Bleu1("none").counts(["a, b"], ["a , b"]).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("language", "units"),
    [("de", "13a"), ("zh", "zh"), ("zh-TW", "zh"), ("th", "char"), ("ja_JP", "char"), ("", "13a")],
)
def test_what_is_counted_in_a_language(language, units):
    assert units_of(language) == units
    assert units in UNITS


def test_what_cannot_be_counted_is_refused(monkeypatch):
    with pytest.raises(ConfigError, match=r"BLEU-1 counts one of 13a, .*pieces, got 'words'"):
        check_units("words")
    monkeypatch.setattr(scores, "find_spec", lambda name: None if name == "sacrebleu" else find_spec(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[translate\]'"):
        Bleu1("13a")
