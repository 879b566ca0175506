"""Progress that counts what the user gave, not what a model makes of it."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage, how many of its steps were just done, and how many it has in all."""


def count_items(items: int, total: int, report: Callable[[int, int], object]) -> Callable[[int], None]:
    """Progress in items where a model reports windows, of which a long sentence has several and an empty one none.

    Args:
        items: How many items the model gets.
        total: How many there are in all.
        report: Called with how many items were just done, and the total.

    Returns:
        What to call with a number of windows, and at the end with the number of items.
    """
    left = items

    def step(done: int) -> None:
        nonlocal left
        done = min(done, left)
        left -= done
        report(done, total)

    return step
