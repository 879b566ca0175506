"""The data of a training: rows, their labels, a hash of all that is read of them, and what looks wrong in them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.kinds.encoded import Examples
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import Task


def make_examples(task: Task, dataset: Any, tokenizer: Any, settings: Settings) -> Examples:
    """Rows of a dataset with the columns of `load_source`."""
    kind = kind_of_task(task)
    return examples_of(task, kind.inputs(dataset), kind.gold(dataset), tokenizer, settings)


def examples_of(task: Task, inputs: Sequence[Any], gold: Sequence[Any], tokenizer: Any, settings: Settings) -> Examples:
    """Rows of inputs and their gold, in the form that the kind of the task has."""
    encoded = kind_of_task(task).encode(
        tokenizer,
        inputs,
        task.labels,
        max_length=settings.text.max_length,
        context=settings.text.context,
        pooling=settings.head.pooling,
    )
    return Examples(task, encoded, list(gold))


def labels_in(predictions: Sequence[Any]) -> int:
    """How many different tags or labels some predictions have."""
    return len({tag for tags in predictions for tag in ([tags] if isinstance(tags, str) else tags)})


def label_counts(dataset: Any, kind: str) -> Counter[str]:
    """How often each label occurs."""
    return kind_named(kind).label_counts(kind_named(kind).gold(dataset))


def data_fingerprint(dataset: Any) -> str:
    """A hash of all that training reads of a dataset, wherever it came from."""
    digest = hashlib.sha256()
    columns = [name for name in dataset.features if name not in ("id", "placeholder")]
    for row in zip(*(dataset[name] for name in columns), strict=True):
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


_SHOWN = 5


def data_notes(train: Loaded, dev: Loaded | None, task: Task) -> list[str]:
    """Sentences that the user should read.

    Args:
        train: Training data.
        dev: Source dev data, or None.
        task: The task, with the labels of the head.
    """
    notes = list(kind_of_task(task).label_notes(task))
    if dev is not None:
        notes += [
            *_nothing_to_find(dev, task),
            *_unknown_labels(train, dev),
            *_other_language(train, dev),
            *_seen_before(train, dev),
        ]
    return notes


def _nothing_to_find(dev: Loaded, task: Task) -> Iterator[str]:
    """Dev data without anything to find, such as an entity."""
    if nothing := kind_of_task(task).has_nothing(label_counts(dev.dataset, dev.kind)):
        yield f"The dev data have no {nothing}, so their score is 0 and chooses nothing; name others with --dev."


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
    return [tuple(each) for each in kind_named(data.kind).inputs(data.dataset)]


def _some(names: list[str]) -> str:
    """The first of some names."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
