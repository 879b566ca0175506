"""A parser that needs no encoder: it counts which parts of speech depend on which, how far away, in a treebank.

It makes real trees of any treebank with parts of speech in no time, half right and half wrong, as scores and decoders
need them; it is no peer.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dlfa_adapters.tasks import POS

_NAMES = {name: number for number, name in enumerate(POS.labels)}
_FARTHEST = 8  # longer distances are one


class CountingParser:
    """Parts of speech and distances of arcs, counted.

    Args:
        trees: What to count: `Tree` items of `read_conllu`.
    """

    def __init__(self, trees: Sequence[Any]) -> None:
        tags = len(_NAMES)
        shape = (tags, tags + 1, 2 * _FARTHEST + 1)  # dependent, head or root, distance
        arcs, pairs = np.zeros(shape), np.zeros(shape)
        relations: dict[tuple[int, int, bool], Counter[str]] = {}
        for tree in trees:
            place = self._places(tree.tags)
            np.add.at(pairs, place, 1)
            words = np.arange(len(tree.tags))
            np.add.at(arcs, tuple(axis[words, tree.heads()] for axis in place), 1)
            for word, (head, deprel) in enumerate(zip(tree.heads(), tree.deprels(), strict=True)):
                key = self._key(place, word, head)
                relations.setdefault(key, Counter())[deprel] += 1
        self._scores = np.log((arcs + 0.1) / (pairs + 10))
        self._relations = {key: found.most_common(1)[0][0] for key, found in relations.items()}

    def scores(self, upos: Sequence[str]) -> np.ndarray:
        """Scores of arcs, (words, words + 1), as `best_tree` reads them."""
        return self._scores[self._places(upos)]

    def relations(self, upos: Sequence[str], heads: Sequence[int]) -> list[str]:
        """The most frequent relation of each word's part of speech to its head's; `root` to none."""
        place = self._places(upos)
        found = [self._relations.get(self._key(place, word, head), "dep") for word, head in enumerate(heads)]
        pairs = zip(heads, found, strict=True)
        return [("dep" if name == "root" else name) if head else "root" for head, name in pairs]

    def _places(self, upos: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each pair of a word and a head is counted, (words, words + 1) each."""
        tags = np.array([_NAMES.get(name, _NAMES["X"]) for name in upos])
        words = np.arange(1, len(tags) + 1)[:, None]
        distance = np.clip(np.arange(len(tags) + 1) - words, -_FARTHEST, _FARTHEST)
        distance[:, 0] = 0
        heads = np.concatenate([[len(_NAMES)], tags])
        return np.broadcast_arrays(tags[:, None], heads, distance + _FARTHEST)  # type: ignore[return-value]

    def _key(self, place: tuple[np.ndarray, ...], word: int, head: int) -> tuple[int, int, bool]:
        dependent, governor, distance = (int(axis[word, head]) for axis in place)
        return dependent, governor, distance > _FARTHEST
