"""The best tree, against every tree of short sentences, networkx, and Chu-Liu-Edmonds in C++ for each root."""

import itertools

import networkx as nx
import numpy as np
import pytest
from ufal.chu_liu_edmonds import chu_liu_edmonds

from dlfa_adapters.data.trees import wrong_in_tree
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.parsing.decode import best_tree

INF = float("inf")


def total(scores, heads):
    return sum(scores[word, head] for word, head in enumerate(heads))


def with_nan(scores, root):
    """The square matrix that the package reads, in which NaN is no arc and only `root` may depend on node 0."""
    square = np.full((len(scores) + 1,) * 2, np.nan)
    square[1:] = np.where(scores == -INF, np.nan, scores)
    square[1:, 0] = np.nan
    square[root, 0] = scores[root - 1, 0]
    np.fill_diagonal(square, np.nan)
    return square


def best_by_root(scores):
    """The best sum over trees with one root: a search without that condition for each word as the root."""
    roots = range(1, len(scores) + 1)
    return max(chu_liu_edmonds(with_nan(scores, root))[1] for root in roots if scores[root - 1, 0] > -INF)


def drawn(seed, count, kind="normal"):
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 3, size=(count, count + 1)).astype(float)
    if kind == "cycles":  # neighbours want one another
        scores = rng.normal(size=(count, count + 1))
        for word in range(count - 1):
            scores[word, word + 2] += 5
            scores[word + 1, word + 1] += 5
        return scores
    if kind == "nested":  # pairs, pairs of pairs, ...: a contracted cycle is in a cycle again
        word = np.arange(count)
        near = 6.0 * sum((word[:, None] >> level) == (word >> level) for level in range(1, 6))
        return rng.normal(size=(count, count + 1)) + np.hstack([np.zeros((count, 1)), near])
    if kind == "roots":  # every word would be the root
        return rng.normal(size=(count, count + 1)) + np.eye(1, count + 1) * 10
    return rng.normal(size=(count, count + 1))


KINDS = ["normal", "ties", "cycles", "nested", "roots"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_no_tree_of_a_short_sentence_is_better(kind, count):
    trees = [h for h in itertools.product(range(count + 1), repeat=count) if wrong_in_tree(h) is None]
    for seed in range(10):
        scores = drawn(seed, count, kind)
        heads = best_tree(scores)
        assert wrong_in_tree(heads) is None
        assert total(scores, heads) == pytest.approx(max(total(scores, tree) for tree in trees), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 7, 20, 64])
def test_as_good_as_the_best_root_in_c_plus_plus(kind, count):
    for seed in range(5):
        scores = drawn(seed, count, kind)
        heads = best_tree(scores)
        assert wrong_in_tree(heads) is None
        assert total(scores, heads) == pytest.approx(best_by_root(scores), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_as_good_as_networkx(kind):
    for seed in range(5):
        scores = drawn(seed, 12, kind)
        root = best_tree(scores).index(0)
        arcs = nx.DiGraph()
        for word, head in itertools.product(range(12), range(13)):
            if head != word + 1 and (head or word == root):
                arcs.add_edge(head, word + 1, weight=scores[word, head])
        expected = nx.maximum_spanning_arborescence(arcs).size("weight")
        assert total(scores, best_tree(scores)) == pytest.approx(expected, abs=1e-9)


def test_arcs_that_are_not_allowed_are_not_taken():
    """Where some tree is left: here that of a random order in which each word may depend on the one before it."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 15))
        scores = np.where(rng.random((count, count + 1)) < 0.6, -INF, drawn(seed, count, KINDS[seed % 5]))
        order = [-1, *rng.permutation(count)]
        for before, word in itertools.pairwise(order):
            scores[word, before + 1] = rng.normal()
        heads = best_tree(scores)
        assert wrong_in_tree(heads) is None
        assert total(scores, heads) == pytest.approx(best_by_root(scores), abs=1e-9)


def test_where_no_tree_is_allowed_the_rest_hangs_from_the_root_word():
    """Two windows that share no word: one root must go, and it has no other head that is allowed."""
    scores = np.full((5, 6), -INF)
    scores[:3, [0, 1, 2, 3]] = [[1, 0, 5, 0], [9, 0, 0, 0], [0, 0, 5, 0]]
    scores[3:, [0, 4, 5]] = [[8, 0, 0], [0, 5, 0]]
    assert best_tree(scores) == [2, 0, 2, 2, 4]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_not_allowed_a_tree_comes_out_with_as_few_such_arcs_as_any(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    scores = np.where(rng.random((count, count + 1)) < 0.8, -INF, rng.normal(size=(count, count + 1)))
    heads = best_tree(scores)
    trees = [h for h in itertools.product(range(count + 1), repeat=count) if wrong_in_tree(h) is None]
    assert tuple(heads) in trees
    forbidden = [sum(scores[word, head] == -INF for word, head in enumerate(tree)) for tree in [heads, *trees]]
    assert forbidden[0] == min(forbidden[1:])


def test_nothing_allowed_at_all():
    heads = best_tree(np.full((4, 5), -INF))
    assert wrong_in_tree(heads) is None
    root = heads.index(0) + 1
    assert set(heads) == {0, root}
    assert best_tree(np.full((4, 5), -INF), greedy=True) == [0, 0, 0, 0]


def test_greedy_takes_the_best_head_of_each_word():
    scores = np.array([[0.0, 9, 2, 1], [1, 5, 9, 0], [4, 3, 2, 9]])
    assert best_tree(scores, greedy=True) == [2, 1, 0]  # a cycle, and never the word itself
    assert wrong_in_tree(best_tree(scores)) is None


@pytest.mark.parametrize(("factor", "shift"), [(1e-300, 0), (1e300, 0), (1, 1e6), (1e30, -1e31), (0, 3)])
def test_large_and_small_scores(factor, shift):
    for seed in range(5):
        scores = drawn(seed, 15, "roots").clip(-10, 15)
        heads = best_tree(scores * factor + shift)
        assert wrong_in_tree(heads) is None
        if factor:
            assert total(scores, heads) == pytest.approx(best_by_root(scores), abs=1e-6)


def test_the_scores_are_left_as_they_are():
    scores = drawn(0, 9, "cycles").astype(np.float32)
    before = scores.copy()
    heads = best_tree(scores)
    assert (scores == before).all()
    assert all(type(head) is int for head in heads)


def test_no_words_and_one_word():
    assert best_tree(np.zeros((0, 1))) == []
    assert best_tree(np.array([[-5.0, 9.0]])) == [0]
    assert best_tree(np.array([[-INF, -INF]])) == [0]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 3)), r"expected scores of arcs, \(words, words \+ 1\), got shape \(3, 3\)"),
        (np.zeros(4), r"got shape \(4,\)"),
        (np.array([[0.0, np.nan]]), r"got NaN or \+inf"),
        (np.array([[np.inf, 0.0]]), r"got NaN or \+inf"),
    ],
)
def test_what_are_no_scores_of_arcs(scores, message):
    with pytest.raises(ConfigError, match=message):
        best_tree(scores)
