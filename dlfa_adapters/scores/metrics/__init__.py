"""The metrics: `evaluate.Metric` classes that live in the package, so that nothing is downloaded."""

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.metrics.base import Metric
from dlfa_adapters.scores.metrics.classification_accuracy import ClassificationAccuracy
from dlfa_adapters.scores.metrics.span_f1 import SpanF1
from dlfa_adapters.scores.metrics.token_accuracy import TokenAccuracy
from dlfa_adapters.scores.metrics.xtreme_pos_f1 import XtremePosF1
from dlfa_adapters.tasks import Task

__all__ = ["ClassificationAccuracy", "Metric", "SpanF1", "TokenAccuracy", "XtremePosF1", "metrics_for"]


def metrics_for(task: Task) -> tuple[Metric, ...]:
    """The metrics of a task: first its main one, then compatibility scores.

    Args:
        task: A task.

    Returns:
        New metrics.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    match task.kind, task.metric:
        case "tagging", "span_f1":
            return (SpanF1(),)
        case "tagging", "accuracy":
            return (TokenAccuracy(), XtremePosF1()) if task.name == "pos" else (TokenAccuracy(),)
        case "classification", "accuracy":
            return (ClassificationAccuracy(),)
    raise ConfigError(
        f"expected metric span_f1 or accuracy for tagging, or accuracy for classification, got {task.metric!r} for "
        f"{task.kind}; type metric='accuracy'."
    )
