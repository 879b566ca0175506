"""Label names: from what a user says about them to names by id, and those that are written in more than one way."""

import re
from collections.abc import Mapping
from typing import Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks.base import Task
from dlfa_adapters.tasks.span_tags import bare


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

    Args:
        counts: Label -> how often it occurs.

    Returns:
        Label -> the most frequent one that it looks like.
    """
    alike: dict[str, list[str]] = {}
    for label in sorted(counts, key=lambda label: -counts[label]):
        alike.setdefault(re.sub(r"(?<=\w)[-_:/.|\s]+(?=\w)", "-", bare(label)).casefold(), []).append(label)
    return {label: first for first, *others in alike.values() for label in others}
