"""What looks wrong with the data of a training, in sentences that the user should read before it begins."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.languages import main_code
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.learning.dataset import label_counts
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.misspelt import meant

_SHOWN = 5


def data_notes(train: Loaded, dev: Loaded | None, task: Task) -> list[str]:
    """Sentences that the user should read, of training data, source dev data and the task with the head's labels."""
    notes = list(kind_of_task(task).label_notes(task))
    if dev is not None:
        notes += [
            *_nothing_to_find(dev, task),
            *_unknown_labels(train, dev, task),
            *_other_language(train, dev),
            *_seen_before(train, dev),
        ]
    return notes


def _nothing_to_find(dev: Loaded, task: Task) -> Iterator[str]:
    """Dev data without anything to find, such as an entity."""
    if nothing := kind_of_task(task).has_nothing(label_counts(dev, task)):
        yield f"The dev data have no {nothing}, so their score is 0 and chooses nothing; name others with --dev."


def _unknown_labels(train: Loaded, dev: Loaded, task: Task) -> Iterator[str]:
    """Labels of dev that training never sees."""
    in_train, in_dev = label_counts(train, task), label_counts(dev, task)
    if unknown := {label: count for label, count in in_dev.items() if label not in in_train}:
        like = {label: f", looks like {other}" for label, other in meant(unknown, in_train).items()}
        named = _some([f"{label} ({count:,}{like.get(label, '')})" for label, count in sorted(unknown.items())])
        yield f"Labels of the dev data that the training data do not have, counted as missed: {named}."


def _other_language(train: Loaded, dev: Loaded) -> Iterator[str]:
    """Dev data that are not in the source language."""
    source, there = (set(data.dataset["language"]) - {UNKNOWN_LANGUAGE} for data in (train, dev))
    codes = set(map(main_code, source))
    if source and (other := sorted(language for language in there if main_code(language) not in codes)):
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
