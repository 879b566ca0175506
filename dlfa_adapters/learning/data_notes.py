"""What looks wrong in training and dev data, said before the first step: the training goes on all the same."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.learning.dataset import label_counts
from dlfa_adapters.tasks import Task

_SHOWN = 5


def data_notes(train: Loaded, dev: Loaded | None, task: Task) -> list[str]:
    """Sentences that the user should read.

    Args:
        train: Training data.
        dev: Source dev data, or None.
        task: The task, with the labels of the head.
    """
    notes = list(_untyped_tags(task))
    if dev is not None:
        notes += [
            *_nothing_to_find(dev, task),
            *_unknown_labels(train, dev),
            *_other_language(train, dev),
            *_seen_before(train, dev),
        ]
    return notes


def _untyped_tags(task: Task) -> Iterator[str]:
    """`PER` beside `O`: entities that are written as classes of words."""
    tags = [label for label in task.labels if label != "O"]
    if task.kind == "tagging" and "O" in task.labels and not any(label[:2] in ("B-", "I-") for label in tags):
        yield (
            f"The tags {_some(tags)} have no B- or I- before them, so words are scored one by one and entities are "
            f"not; write B-{tags[0]} for the first word of an entity and I-{tags[0]} for those that follow."
        )


def _nothing_to_find(dev: Loaded, task: Task) -> Iterator[str]:
    """Dev data without an entity."""
    if task.metric == "span_f1" and set(label_counts(dev.dataset, dev.kind)) <= {"O"}:
        yield "The dev data have no entities, so their score is 0 and chooses nothing; name others with --dev."


def _unknown_labels(train: Loaded, dev: Loaded) -> Iterator[str]:
    """Labels of dev that training never sees."""
    known, found = label_counts(train.dataset, train.kind), label_counts(dev.dataset, dev.kind)
    if unknown := {label: count for label, count in found.items() if label not in known}:
        named = _some([f"{label} ({count:,})" for label, count in sorted(unknown.items())])
        yield f"Labels of the dev data that the training data do not have, counted as missed: {named}."


def _other_language(train: Loaded, dev: Loaded) -> Iterator[str]:
    """Dev data that are not in the source language."""
    source, there = (set(data.dataset["language"]) - {UNKNOWN_LANGUAGE} for data in (train, dev))
    if source and (other := sorted(there - source)):
        yield (
            f"The dev data are in {_some(other)}, the training data in {_some(sorted(source))}: the weights that are "
            "kept would be chosen on a target language; name dev data in the source language with --dev, or "
            "their language with --language."
        )


def _seen_before(train: Loaded, dev: Loaded) -> Iterator[str]:
    """Dev items that also stand in the training data."""
    seen = Counter(_items(train))
    again = sum(1 for item in _items(dev) if item in seen)
    if again:
        yield (
            f"{again:,} of {len(dev.dataset):,} dev items are also in the training data, so their score is no measure "
            "of what was learned; take them out of one of the two."
        )


def _items(data: Loaded) -> list[Any]:
    """What is read of each item: its words, or its one or two texts."""
    if data.kind == "tagging":
        return [tuple(words) for words in data.dataset["words"]]
    return list(zip(data.dataset["text"], data.dataset["text_pair"], strict=True))


def _some(names: list[str]) -> str:
    """The first of some names."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
