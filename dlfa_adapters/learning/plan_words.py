"""Parts of a plan in words."""

from typing import Any

from dlfa_adapters.data.places import each_place
from dlfa_adapters.tuning import Tuning


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
