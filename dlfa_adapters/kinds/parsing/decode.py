"""The best tree for the scores of arcs: a maximum spanning arborescence with one root.

Chu and Liu 1965 and Edmonds 1967 contract cycles until there are none; McDonald et al. 2005 parse with it. One root:
arcs from the root are made worse until one more of them does not pay (Stanojević and Cohen 2021, "A Root of a Problem",
EMNLP). Written here because the package that does it in C++ (ufal.chu_liu_edmonds) is under the GPL and has
no wheels for Python 3.13, and networkx, which PyTorch brings, takes seconds for a long sentence; the tests compare with
both.
"""

from typing import NamedTuple

import numpy as np

from dlfa_adapters.data.trees import find_cycles
from dlfa_adapters.ground.errors import ConfigError

_PENALTIES = (0.1, 0.3, 1.0)
"""For a root, as shares of the range of the scores; with a larger one more cycles must be contracted."""


def best_tree(scores: np.ndarray, *, greedy: bool = False) -> list[int]:
    """The heads of the words of a sentence for which the sum of scores is largest, among all trees with one root.

    A score of -inf forbids an arc, and no word is its own head. Where no tree is left, it is one with the fewest
    forbidden arcs, whose words are given the root's word as their head. So a tree always comes out.

    Args:
        scores: (words, words + 1); row d is word d + 1 as a dependent, column h word h as its head, 0 the root.
        greedy: Take the best head of each word instead, whether or not they make a tree; the root for a word with none.

    Returns:
        The head of each word, counted from 1, 0 for the root.

    Raises:
        ConfigError: If `scores` has another shape, or a score is NaN or +inf.
    """
    scores = _checked(scores)
    count = len(scores)
    if not count:
        return []
    heads = scores.argmax(1)
    allowed = scores != -np.inf
    chosen = allowed[np.arange(count), heads]
    if greedy:
        return list(np.where(chosen, heads, 0).tolist())
    if chosen.all() and (heads == 0).sum() == 1 and not find_cycles([0, *heads.tolist()]):
        return list(heads.tolist())  # nothing is better than the best head of each word
    best = _tree_with_one_root(scores, allowed)
    root = int(np.flatnonzero(best == 0)[0]) + 1
    forbidden = ~allowed[np.arange(count), best]
    forbidden[root - 1] = False
    best[forbidden] = root  # all words are below the root's, so that this makes no cycle
    return list(best.tolist())


def _checked(scores: np.ndarray) -> np.ndarray:
    """A copy in double precision, in which no word is its own head."""
    scores = np.array(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != scores.shape[0] + 1:
        raise ConfigError(f"expected scores of arcs, (words, words + 1), got shape {scores.shape}.")
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise ConfigError("expected finite scores of arcs, or -inf for an arc that is not allowed, got NaN or +inf.")
    words = np.arange(len(scores))
    scores[words, words + 1] = -np.inf
    return scores


def _tree_with_one_root(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The heads of the best tree with one root and, where some arcs must be forbidden ones, with fewest of these.

    Allowed arcs get 0..1, by their scores; a forbidden one costs more than all of them together are worth. What roots
    cost is raised until the best tree has one, and at last is more than all forbidden arcs. Whatever it is, it is the
    same for all trees with one root, so the first such tree is the best of them.
    """
    count = len(scores)
    finite = scores[allowed]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    cost = count + 1.0
    nodes = np.full((count + 1, count + 1), -cost)
    nodes[1:][allowed] = (finite / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)  # halves: a difference may overflow
    np.fill_diagonal(nodes, -np.inf)
    for penalty in (*_PENALTIES, cost * (count + 1)):
        dearer = nodes.copy()
        dearer[1:, 0] -= penalty
        heads = _spanning_tree(dearer)[1:]
        if (heads == 0).sum() == 1:
            break
    return heads


class _Contracted(NamedTuple):
    """A cycle that was made one node.

    Attributes:
        cycle: Its nodes; the first stands for all.
        heads: Their heads in it.
        entered: For each node outside, the one of the cycle that it would be the head of.
        left: For each node outside, the one of the cycle that would be its head.
    """

    cycle: np.ndarray
    heads: np.ndarray
    entered: np.ndarray
    left: np.ndarray


def _spanning_tree(scores: np.ndarray) -> np.ndarray:
    """The head of each node in the best arborescence from node 0; changes `scores`, (dependents, heads).

    Every node must have a finite score with 0 as its head, so that there is one.
    """
    heads = scores.argmax(1)
    heads[0] = 0
    steps: list[_Contracted] = []
    alive = np.ones(len(heads), dtype=bool)
    while cycles := find_cycles(np.where(alive, heads, 0).tolist()):
        for nodes in cycles:
            cycle = np.array(nodes)
            steps.append(_contract(scores, heads, cycle))
            alive[cycle[1:]] = False
    for step in reversed(steps):
        rep = step.cycle[0]
        head = heads[rep]
        below = heads == rep
        heads[below] = step.left[below]
        heads[step.cycle] = step.heads
        heads[step.entered[head]] = head
    return heads


def _contract(scores: np.ndarray, heads: np.ndarray, cycle: np.ndarray) -> _Contracted:
    """Make the nodes of a cycle one, which stands at the first of them, and find the best heads anew."""
    rep, others, within = cycle[0], cycle[1:], heads[cycle]
    gain = scores[cycle] - scores[cycle, within][:, None]  # of entering the cycle here, over going on around it
    leaving = scores[:, cycle]
    step = _Contracted(cycle, within, cycle[gain.argmax(0)], cycle[leaving.argmax(1)])
    scores[rep], scores[:, rep] = gain.max(0), leaving.max(1)
    scores[others], scores[:, others] = -np.inf, -np.inf
    scores[rep, rep] = -np.inf
    inside = np.zeros(len(heads), dtype=bool)
    inside[cycle] = True
    heads[inside[heads]] = rep
    heads[0], heads[rep] = 0, scores[rep].argmax()
    return step
