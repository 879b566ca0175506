"""From windows to trees: the word of each piece of a window, and one tree from the scores of a sentence's windows."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dlfa_adapters.data.windows import Window, check_pooling
from dlfa_adapters.kinds.parsing.decode import best_tree


def words_of_pieces(window: Window, pooling: str) -> list[int]:
    """The word that each piece of a window speaks for by `pooling`, counted from 1 in the window; 0 for none.

    Raises:
        ConfigError: If `pooling` is not `first`, `last` or `mean`.
    """
    check_pooling(pooling)
    word_ids = [0] * len(window.input_ids)
    for word, (start, stop) in enumerate(window.held, 1):
        first = stop - 1 if pooling == "last" else start
        last = start + 1 if pooling == "first" else stop
        word_ids[first:last] = [word] * (last - first)
    return word_ids


def tree_of_windows(
    words: int, scored: Iterable[tuple[Window, Any, Any]], *, greedy: bool = False
) -> list[tuple[int, int]]:
    """The tree of a sentence from its windows.

    Each word takes its head by the window that it is scored in; arcs to words outside that are not allowed.

    Args:
        words: Number of words of the sentence.
        scored: Its windows, each with the scores of arcs among the words that it holds, the root first, and the ids of
            their best relations; (words, words + 1) or more, where they are padded.
        greedy: See `best_tree`.

    Returns:
        For each word its head, counted from 1, 0 for the root, and the id of its relation.
    """
    if not words:
        return []
    scores, names = np.full((words, words + 1), -np.inf), np.zeros((words, words + 1), dtype=np.int64)
    for window, arcs, rels in scored:
        held, own = len(window.held), [word - window.first for word in window.words]
        inside = slice(window.first + 1, window.first + 1 + held)
        for whole, part in ((scores, arcs), (names, rels)):
            whole[window.words, 0] = part[own, 0]
            whole[window.words, inside] = part[own, 1 : held + 1]
    heads = best_tree(scores, greedy=greedy)
    return [(head, int(names[word, head])) for word, head in enumerate(heads)]
