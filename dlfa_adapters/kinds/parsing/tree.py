"""A word's place in a dependency tree. The tree of a sentence, in gold and as predicted, is a list of them."""

from collections.abc import Sequence
from typing import NamedTuple

from dlfa_adapters.data.trees import wrong_in_tree

ROOT = "root"
"""The relation of the one word of a sentence that has no head."""


class Arc(NamedTuple):
    """What a word depends on.

    Attributes:
        head: A word of the sentence, counted from 1, or 0 for the root.
        deprel: The relation to it, `nsubj` or with a subtype `nsubj:pass`.
        upos: The word's universal part of speech; empty where there is none.
    """

    head: int
    deprel: str
    upos: str = ""


def check_tree(arcs: Sequence[Arc]) -> str | None:
    """What is wrong with a tree, for a sentence: a head out of range, not one root, a cycle; None if nothing is."""
    wrong = wrong_in_tree([arc.head for arc in arcs])
    return None if wrong is None else wrong[1]


def cut_subtype(deprel: str) -> str:
    """The universal relation: `nsubj` of `nsubj:pass`."""
    return deprel.partition(":")[0]


def same_relation(predicted: Arc, gold: Arc) -> bool:
    """Whether head and relation are right, subtypes left aside."""
    return predicted.head == gold.head and cut_subtype(predicted.deprel) == cut_subtype(gold.deprel)
