"""The tasks known by name, tasks of one's own, and the labels of both.

A new one known by name is an entry in `TASKS`, or a call of `register_task`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks.span_tags import bare, find_span_tags, read_tag
from dlfa_adapters.tasks.task import (
    KINDS,
    MARC,
    MLDOC,
    NER,
    PARSE,
    PAWSX,
    POS,
    SENTIMENT,
    TASKS,
    TOPIC,
    XNLI,
    KindOfTask,
    Task,
    check_labels,
    get_task,
    register_task,
)

__all__ = [
    "KINDS",
    "MARC",
    "MLDOC",
    "NER",
    "PARSE",
    "PAWSX",
    "POS",
    "SENTIMENT",
    "TASKS",
    "TOPIC",
    "XNLI",
    "KindOfTask",
    "Task",
    "classification_task",
    "get_task",
    "is_span_task",
    "labels_in_order",
    "register_task",
    "tagging_task",
]


def tagging_task(name: str, labels: Iterable[str], metric: str | None = None) -> Task:
    """A tagging task.

    Args:
        name: Its name, which becomes the head's.
        labels: Label names; the order is the order of ids. Entity tags (`B-X`, `I-X`, `O`) are completed: every type
            gets both B- and I-, because a model that lacks one of them cannot write the entities of the other.
        metric: `span_f1` or `accuracy`; default: by whether the labels are entity tags.

    Returns:
        The task.

    Raises:
        ConfigError: There are fewer than two labels, one occurs twice, or most but not all are entity tags and no
            metric is given.
    """
    names = check_labels(name, labels)
    if is_span_task(names):
        types = dict.fromkeys(label[2:] for label in names if label != "O")
        wanted = [f"{start}-{kind}" if kind else start for kind in types for start in "BI"]
        missing = [label for label in wanted if label not in names]
        names = (*names, *missing) if "O" in names else ("O", *names, *missing)
    elif metric is None and (span_tags := find_span_tags(dict.fromkeys(names, 1))) is not None:
        odd = ", ".join(map(repr, span_tags.slips or span_tags.rewritten))
        raise ConfigError(
            f"task {name!r}: expected entity tags written O, B-TYPE, I-TYPE, but there are also {odd}; leave these "
            "out, or type metric='accuracy'"
        )
    metric = metric or ("span_f1" if is_span_task(names) else "accuracy")
    return Task(name=name, kind="tagging", labels=names, metric=metric)


def classification_task(name: str, labels: Iterable[str], pair: bool = False) -> Task:
    """A classification task.

    Args:
        name: Its name, which becomes the head's.
        labels: Label names; the order is the order of ids.
        pair: Whether an item is a pair of texts.

    Returns:
        The task.

    Raises:
        ConfigError: There are fewer than two labels, or one occurs twice.
    """
    return Task(name=name, kind="classification", labels=check_labels(name, labels), metric="accuracy", pair=pair)


def labels_in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The distinct labels of some data in an order that does not depend on the data's: `O` first, then sorted.

    Entity tags are sorted by type, B- before I-.
    """
    distinct = set(labels)
    rest = sorted(distinct - {"O"}, key=lambda label: (label[2:], label[:2]) if label[1:2] == "-" else (label, ""))
    return ("O", *rest) if "O" in distinct else tuple(rest)


def is_span_task(labels: Iterable[str]) -> bool:
    """Whether the labels are entity tags in IOB2: all of them `O`, `B-X` or `I-X`, and at least one not `O`.

    `B` and `I` without a type are, too.
    """
    readings = {label: read_tag(label) for label in set(labels) - {"O"}}
    return bool(readings) and all(
        reading is not None and reading.tag == label and reading.prefix in "BI" for label, reading in readings.items()
    )


def check_id2label(id2label: Mapping[Any, str] | None) -> dict[int, str] | None:
    """Label names by id, in the order of the ids; ids may be strings, as JSON makes them.

    Raises:
        ConfigError: If the ids are not 0, 1, 2..., or a name occurs twice.
    """
    if id2label is None:
        return None
    try:
        names = {int(key): str(id2label[key]) for key in sorted(id2label, key=int)}
    except (TypeError, ValueError, AttributeError):
        names = {}
    if not names or list(names) != list(range(len(names))):
        raise ConfigError(
            f"id2label must map 0, 1, 2... to label names, got {id2label!r}; type e.g. {{0: 'O', 1: 'PER'}}."
        )
    twice = sorted({name for name in names.values() if list(names.values()).count(name) > 1})
    if twice:
        raise ConfigError(f"id2label names {', '.join(twice)} more than once; type each label once.")
    return names


def label_names(task: Task | None, num_labels: int | None, id2label: Mapping[Any, str] | None) -> dict[int, str]:
    """Label names by id: the given ones, or the task's, or numbered ones.

    Args:
        task: A task that has labels, or None.
        num_labels: Their number, where names do not matter or for a check.
        id2label: Their names by id.

    Raises:
        ConfigError: If nothing says how many labels there are, or two things say different numbers.
    """
    names = check_id2label(id2label)
    if num_labels is not None and (isinstance(num_labels, bool) or not isinstance(num_labels, int) or num_labels < 1):
        raise ConfigError(f"num_labels must be a whole number from 1 up, got {num_labels!r}.")
    if names is None and task is not None and num_labels in (None, len(task.labels)):
        names = task.id2label
    if names is None and num_labels is None:
        raise ConfigError("The labels are not known; type task='ner' or another known task, num_labels=3, or id2label.")
    if names is None:
        return {i: f"LABEL_{i}" for i in range(num_labels or 0)}
    if num_labels not in (None, len(names)):
        raise ConfigError(f"num_labels is {num_labels}, but id2label names {len(names)} labels; leave num_labels out.")
    return names


def lookalikes(counts: Mapping[str, int]) -> dict[str, str]:
    """Labels that differ from a more frequent one in case, blanks or separators alone, such as `noun` from `NOUN`.

    Returns:
        Label -> the most frequent one that it looks like.
    """
    alike: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: -counts[label]):
        alike.setdefault(re.sub(r"(?<=\w)[-_:/.|\s]+(?=\w)", "-", bare(label)).casefold(), []).append(label)
    return {label: first for first, *others in alike.values() for label in others}
