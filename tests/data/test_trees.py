"""What makes heads a tree, and what is said where they are none."""

import itertools

import networkx as nx
import pytest

from dlfa_adapters.data.trees import find_cycles, wrong_in_tree


def graph(heads):
    return nx.DiGraph([(head, word) for word, head in enumerate(heads, 1)])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_all_heads_of_short_sentences_against_networkx(count):
    trees = 0
    for heads in itertools.product(range(count + 1), repeat=count):
        expected = nx.is_arborescence(graph(heads)) and heads.count(0) == 1
        assert (wrong_in_tree(heads) is None) == expected, heads
        trees += expected
    assert trees == count ** (count - 1)  # Cayley: trees of n nodes, times n for the root


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_all_cycles_of_short_sentences_against_networkx(count):
    for heads in itertools.product(range(count + 1), repeat=count):
        found = find_cycles([0, *heads])
        assert all(heads[a - 1] == b for cycle in found for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        expected = {frozenset(cycle) for cycle in nx.simple_cycles(graph(heads))}
        assert {frozenset(cycle) for cycle in found} == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("heads", "index", "message"),
    [
        ([2, 4, 0], 1, "expected a head in 0..3 for word 2, but got 4"),
        ([0, -1], 1, "expected a head in 0..2 for word 2, but got -1"),
        ([0, 2], 1, "expected another word as the head of word 2, but got itself"),
        ([0, 1, 0, 0], 2, "expected one word with head 0, the root, but got 3: words 1, 3, 4"),
        ([0, 3, 4, 2], 1, "expected heads that lead to the root, but words 2, 3, 4 are heads of one another"),
        ([2, 1], 0, "expected heads that lead to the root, but words 1, 2 are heads of one another"),
    ],
)
def test_what_is_wrong_and_where(heads, index, message):
    assert wrong_in_tree(heads) == (index, message)


def test_no_words_are_no_mistake():
    assert wrong_in_tree([]) is None
