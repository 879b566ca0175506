"""Kinds of tasks, a package each, with their metrics: `evaluate.Metric` classes, for which nothing is downloaded."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.packages import lazily
from dlfa_adapters.kinds.base import Kind
from dlfa_adapters.kinds.classification import Classification
from dlfa_adapters.kinds.registry import kind_named, kind_of_head, kind_of_task, metrics_for, register_kind, scores_for
from dlfa_adapters.kinds.tagging import Spans, Tagging

if TYPE_CHECKING:
    from dlfa_adapters.kinds.classification.accuracy import ClassificationAccuracy
    from dlfa_adapters.kinds.metric import Metric
    from dlfa_adapters.kinds.tagging.accuracy import TokenAccuracy, XtremePosF1
    from dlfa_adapters.kinds.tagging.span_f1 import SpanF1

__all__ = [
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
    "register_kind",
    "scores_for",
]

__getattr__ = lazily(
    __name__,
    {
        "ClassificationAccuracy": "classification.accuracy",
        "Metric": "metric",
        "SpanF1": "tagging.span_f1",
        **dict.fromkeys(("TokenAccuracy", "XtremePosF1"), "tagging.accuracy"),
    },
)

register_kind(Tagging(), Spans())
register_kind(Classification())
