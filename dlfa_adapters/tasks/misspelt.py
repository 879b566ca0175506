"""Labels that look like a typing error of a frequent one: `B-LCO`, seen once beside a thousand of `B-LOC`.

They are named and stay what they are, since a rare label may well be meant.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from dlfa_adapters.tasks.span_tags import SpanTags, read_tag
from dlfa_adapters.tasks.task import TASKS

_RARER = 20
"""So many times as frequent is the label that one is taken for a typing error of."""


def misspelt(counts: Mapping[str, int], spans: SpanTags | None = None) -> dict[str, str]:
    """Labels that are one typing error away from one that is at least 20 times as frequent.

    An error is two neighbouring letters in the wrong order, a letter too many or too few, or a wrong one (this in names
    of four and more letters alone: `DNA` is no slip of `RNA`). Digits tell labels apart (`star1`, `star2`), and a known
    task has its own names.

    Args:
        counts: Label -> how often it occurs.
        spans: The notation of tags of spans; their types are compared, over all prefixes.

    Returns:
        Label -> the frequent one, where tags are of spans with the same prefix.
    """
    names = {
        label: _type_of(label) if spans else label for label in counts if spans is None or label not in spans.slips
    }
    totals: Counter[str] = Counter()
    for label, name in names.items():
        totals[name] += counts[label]
    near: dict[str, set[str]] = {}
    for other in (name for name in totals if totals[name] >= _RARER):
        for part in _without_one(other):
            near.setdefault(part, set()).add(other)
    known = [{_type_of(label) for label in task.labels} if spans else set(task.labels) for task in TASKS.values()]
    meant = {}
    for label, name in names.items():
        found = set().union(*(near.get(part, ()) for part in _without_one(name)))
        alike = [
            other
            for other in sorted(found)
            if totals[name] * _RARER <= totals[other] and one_slip(name, other)
            if not any({name, other} <= labels for labels in known)
        ]
        if alike:
            like = max(alike, key=lambda other: totals[other])
            meant[label] = f"{label.removesuffix(name)}{like}" if spans else like
    return meant


def meant(labels: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Labels that a task does not have and that are one typing error away from one that it has, however rare that is.

    Args:
        labels: Labels of data.
        known: The labels of the task; the types of tags of spans are compared, each under its own prefix.

    Returns:
        Label -> the one of the task; without those that are one error away from several.
    """
    there = set(known)
    parts = {label: _parts(label) for label in there}
    found = {}
    for label in labels:
        prefix, name = _parts(label)
        alike = [other for other, (its, type_) in parts.items() if its == prefix and one_slip(name, type_)]
        if label not in there and len(alike) == 1:
            found[label] = alike[0]
    return found


def one_slip(a: str, b: str) -> bool:
    """Whether two names, of three letters and more, differ by one typing error; see `misspelt`."""
    short, long = sorted((a, b), key=len)
    if len(short) < 3 or a == b:
        return False
    at = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(long) == len(short) + 1:
        return long[:at] + long[at + 1 :] == short and not long[at].isdigit()
    if len(long) > len(short):
        return False
    if short[at + 1 :] == long[at + 1 :]:
        return len(short) > 3 and not (short[at].isdigit() and long[at].isdigit())
    swapped = short[:at] + short[at : at + 2][::-1] + short[at + 2 :]
    return swapped == long and not any(char.isdigit() for char in short[at : at + 2])


def _without_one(name: str) -> set[str]:
    """A name, and what is left of it without one letter: names that are one slip apart have one of these in common."""
    return {name, *(name[:i] + name[i + 1 :] for i in range(len(name)))}


def _parts(label: str) -> tuple[str, str]:
    """What stands before the type of a tag of a span, and the type; all of any other label."""
    name = _type_of(label) or label
    return label.removesuffix(name), name


def _type_of(tag: str) -> str:
    """The type of a tag of a span, empty where there is none."""
    reading = read_tag(tag)
    return "" if reading is None else reading.kind
