"""What a dependency tree is: one head a word, one root, no cycle.

Universal Dependencies, https://universaldependencies.org/format.html, and its validator's level 2.
"""

from collections.abc import Sequence


def wrong_in_tree(heads: Sequence[int]) -> tuple[int, str] | None:
    """The first thing for which the heads of a sentence are no tree.

    Args:
        heads: The head of each word: a word of the sentence, counted from 1, or 0 for the root.

    Returns:
        The index of the word to look at, from 0, and what is wrong, for a sentence; None for a tree and for no words.
    """
    count = len(heads)
    for index, head in enumerate(heads):
        if not 0 <= head <= count:
            return index, f"expected a head in 0..{count} for word {index + 1}, but got {head}"
        if head == index + 1:
            return index, f"expected another word as the head of word {index + 1}, but got itself"
    roots = [index for index, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        words = ", ".join(str(index + 1) for index in roots)
        return roots[1], f"expected one word with head 0, the root, but got {len(roots)}: words {words}"
    cycles = find_cycles([0, *heads])
    if cycles:
        words = ", ".join(map(str, sorted(cycles[0])))
        return min(cycles[0]) - 1, f"expected heads that lead to the root, but words {words} are heads of one another"
    return None  # without a cycle some word has head 0


def find_cycles(heads: Sequence[int]) -> list[list[int]]:
    """The cycles among nodes of which each has one head.

    Args:
        heads: The head of each node; node 0 is the root, whatever stands there.

    Returns:
        The nodes of each cycle, each followed by its head.
    """
    cycles = []
    seen_from = [0] * len(heads)  # the node from which a node was reached first; 0: not yet
    for start in range(1, len(heads)):
        node = start
        while node and not seen_from[node]:
            seen_from[node] = start
            node = heads[node]
        if node and seen_from[node] == start:
            cycle = [node]
            while heads[cycle[-1]] != node:
                cycle.append(heads[cycle[-1]])
            cycles.append(cycle)
    return cycles
