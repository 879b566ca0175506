"""Parts of a plan in words."""

import logging
from collections.abc import Callable
from typing import Any

from dlfa_adapters.data.places import each_place
from dlfa_adapters.tuning import PartSize, Tuning, trainable_share


def announce(plan: Any, on_start: Callable[[Any], None] | None, logger: logging.Logger, notes: int) -> None:
    """Say what is about to begin: to whom wants to know, or else in the log, with `notes` at that level."""
    if on_start is not None:
        on_start(plan)
        return
    for level, lines in ((logging.INFO, plan.lines()), (notes, plan.notes)):
        for line in lines:
            logger.log(level, line)


def learning_in_words(report: list[PartSize]) -> str:
    """How many of all parameters learn: a line."""
    trainable, total = trainable_share(report)
    return f"Parameters: {trainable:,} of {total:,} learn ({100 * trainable / total:.2f} %)"


def left_out_in_words(tuning: Tuning) -> str:
    """The blocks without what a tuning adds, for the end of a phrase; "" where there are none."""
    blocks = ", ".join(map(str, tuning.leave_out))
    return f", no {tuning.adds} in block {blocks}" if blocks else ""


def data_in_words(described: dict[str, Any]) -> str:
    """Where data are from, their languages, and how many items they are."""
    languages = described["language"]
    names = languages if isinstance(languages, str) else ", ".join(languages)
    places = ", ".join(map(str, each_place(described["source"])))
    return f"{places} ({names}, {described['items']:,} items)"
