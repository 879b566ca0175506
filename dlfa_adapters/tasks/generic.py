"""Tasks of one's own: tagging or classification with any labels."""

from collections.abc import Iterable

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks.base import Task
from dlfa_adapters.tasks.span_tags import find_span_tags, read_tag


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
    elif metric is None and (found := find_span_tags(dict.fromkeys(names, 1))) is not None:
        odd = ", ".join(map(repr, found.slips or found.rewritten))
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


def check_labels(name: str, labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of a task as a tuple.

    Raises:
        ConfigError: There are fewer than two, or one occurs twice.
    """
    names = tuple(labels)
    twice = [label for label in dict.fromkeys(names) if names.count(label) > 1]
    if twice:
        raise ConfigError(f"task {name!r}: expected distinct labels, but {twice[0]!r} occurs twice")
    if len(names) < 2:
        raise ConfigError(f"task {name!r}: expected at least two labels, but got {list(names)}")
    return names
