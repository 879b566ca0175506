"""Kinds of tasks by name, by metric, and by the heads that they are learned with; a package each.

Their metrics are `evaluate.Metric` classes, for which nothing is downloaded.
"""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.base import Kind
from dlfa_adapters.kinds.classification import Classification
from dlfa_adapters.kinds.parsing import Parsing
from dlfa_adapters.kinds.tagging import Spans, Tagging
from dlfa_adapters.tasks import KINDS, Task

if TYPE_CHECKING:
    from dlfa_adapters.fusion.options import Option
    from dlfa_adapters.kinds.classification.accuracy import ClassificationAccuracy
    from dlfa_adapters.kinds.metric import CountedScore, Metric
    from dlfa_adapters.kinds.parsing.attachment import AttachmentScore
    from dlfa_adapters.kinds.tagging.accuracy import TokenAccuracy, XtremePosF1
    from dlfa_adapters.kinds.tagging.span_f1 import SpanF1

__all__ = [
    "AttachmentScore",
    "ClassificationAccuracy",
    "Kind",
    "Metric",
    "SpanF1",
    "TokenAccuracy",
    "XtremePosF1",
    "kind_named",
    "kind_of_head",
    "kind_of_task",
    "metrics_for",
    "options_of_kinds",
    "register_kind",
    "scores_for",
]

__getattr__ = lazily(
    __name__,
    {
        "AttachmentScore": "parsing.attachment",
        "ClassificationAccuracy": "classification.accuracy",
        "Metric": "metric",
        "SpanF1": "tagging.span_f1",
        **dict.fromkeys(("TokenAccuracy", "XtremePosF1"), "tagging.accuracy"),
    },
)


SCORED: dict[tuple[str, str], Kind] = {}
"""Every kind by name and metric."""


def register_kind(*kinds: Kind) -> None:
    """Make a kind known by its name; several where its tasks are scored in several ways, the usual one first."""
    KINDS[kinds[0].name] = kinds[0]
    SCORED.update({(kind.name, kind.metric): kind for kind in kinds})


def kind_named(name: str) -> Kind:
    """The kind with a name, whatever its tasks are scored by.

    Raises:
        ConfigError: If there is none.
    """
    if name not in KINDS:
        raise ConfigError(f"expected a kind of task among {', '.join(KINDS)}, got {name!r}.")
    kind: Kind = KINDS[name]
    return kind


def kind_of_task(task: Task) -> Kind:
    """The kind of a task, scored as the task is.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    if (task.kind, task.metric) not in SCORED:
        known = [f"{' or '.join(metric for kind, metric in SCORED if kind == name)} for {name}" for name in KINDS]
        raise ConfigError(
            f"expected metric {', or '.join(known)}, got {task.metric!r} for {task.kind}; type "
            f"metric={kind_named(task.kind).metric!r}."
        )
    return SCORED[task.kind, task.metric]


def metrics_for(task: Task) -> "tuple[Metric, ...]":
    """New metrics of a task: first its main one, then compatibility scores.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    return kind_of_task(task).metrics(task)


def options_of_kinds() -> "dict[str, Option]":
    """The options of a training that single kinds have, by name."""
    return {name: option for kind in KINDS.values() for name, option in kind.known_options().items()}


def kind_of_head(head_type: str) -> Kind | None:
    """The kind of task that a head of adapters is for; None for heads that no kind is learned with."""
    return next((kind for kind in KINDS.values() if head_type in kind.head_types), None)


def scores_for(task: Task) -> "tuple[CountedScore, ...]":
    """Every score of a task that can be resampled, the main one first.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    return tuple(score for metric in metrics_for(task) for score in metric.counted_scores())


register_kind(Tagging(), Spans())
register_kind(Classification())
register_kind(Parsing())
