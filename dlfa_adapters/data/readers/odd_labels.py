"""Labels that look like slips, named with their lines: told by every command that reads them, never changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.tasks.labels import lookalikes
from dlfa_adapters.tasks.span_tags import find_span_tags, how_it_differs, span_hint

_MOST_NAMED = 10


def name_odd_labels(read: Read[Any]) -> None:
    """Add a warning for each label that looks like a slip, and one where tags without B- and I- hide spans.

    Args:
        read: What a reader gave back, tags in IOB2.
    """
    places: dict[str, list[int]] = {}
    tagging = False
    for index, item in enumerate(read.items, 1):
        tagging |= isinstance(item, Sentence)
        for label, line in _labels(item):
            places.setdefault(label, []).append(line or -index)
    counts = Counter({label: len(lines) for label, lines in places.items()})
    unit = "word" if tagging else "item"
    notes = Notes(read.path, strict=False, problems=read.problems)
    spans = find_span_tags(counts) if tagging else None
    slips: dict[str, str | None] = dict(lookalikes({label: n for label, n in counts.items() if label.strip()}))
    if spans is not None:
        slips |= spans.slips
    for label, like in list(slips.items())[:_MOST_NAMED]:
        lines = places[label]
        if spans is not None and label in spans.slips:
            means = " is no tag of a span" if like is None else f" looks like {shown(like)} ({_differs(label, like)})"
            means += "; it stays as it is, is not learnt and counts as an error"
        else:
            means = f" looks like {shown(str(like))} ({_differs(label, str(like))}); it stays as it is"
        notes.warn(max(lines[0], 0) or None, "slip", f"the label {shown(label)} ({_where(lines, unit)}){means}")
    if more := list(slips)[_MOST_NAMED:]:
        number = sum(counts[label] for label in more)
        notes.warn(None, "slip", f"{len(more)} more labels that look like slips, of {number} {unit}s")
    if tagging and spans is None and (hint := span_hint(counts)) is not None:
        notes.warn(None, "no_spans", hint)


def _labels(item: Any) -> Iterator[tuple[str, int]]:
    if isinstance(item, Sentence):
        yield from zip(item.tags or (), item.lines or [0] * len(item.words), strict=False)
    elif item.label is not None:
        yield item.label, item.line


def _differs(label: str, like: str) -> str:
    return f"another {what}" if (what := how_it_differs(label, like)) != "blanks" else "with a blank"


def _where(lines: list[int], unit: str) -> str:
    """How many, and where: lines of a file, or places in a list of items."""
    place = "line" if lines[0] > 0 else "sentence" if unit == "word" else "item"
    numbers = list(dict.fromkeys(map(abs, lines)))
    named = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return f"{len(lines):,} {unit}{'s' * (len(lines) > 1)}, {place}{'s' * (len(numbers) > 1)} {named}"
