"""The scores of a task in the form that can be resampled: sums over items, and a function of the sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlfa_adapters.scores.intervals import mean_of_defined
from dlfa_adapters.scores.metrics import ClassificationAccuracy, SpanF1, TokenAccuracy, metrics_for
from dlfa_adapters.scores.metrics.base import quotient
from dlfa_adapters.scores.metrics.span_f1 import span_counts
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.spans import strict_spans


@dataclass(frozen=True)
class CountedScore:
    """A score that is a function of sums over items.

    Attributes:
        name: Its key in a report.
        title: Its name in a table.
        counts: From predictions and gold to what is summed, (items, counts).
        score: From sums, (..., counts), to the score, (...); NaN where it is not defined.
    """

    name: str
    title: str
    counts: Callable[[Sequence[Any], Sequence[Any]], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]


def scores_for(task: Task) -> tuple[CountedScore, ...]:
    """Every score of a task, the main one first.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    scores = []
    for metric in metrics_for(task):
        scores.append(CountedScore(metric.main_score, metric.title, metric.item_counts, metric.score_of_counts))
        if isinstance(metric, SpanF1):
            scores.append(
                CountedScore(
                    "span_f1_strict",
                    "span F1 (strict)",
                    lambda predictions, gold: span_counts(predictions, gold, strict_spans),
                    metric.score_of_counts,
                )
            )
        elif isinstance(metric, TokenAccuracy):
            scores.append(CountedScore("macro_f1", "macro F1", _tag_counts, _macro_f1))
        elif isinstance(metric, ClassificationAccuracy):
            scores.append(CountedScore("macro_f1", "macro F1", _label_counts, _macro_f1))
    return tuple(scores)


def _label_counts(predictions: Sequence[str], gold: Sequence[str]) -> np.ndarray:
    return _tag_counts([[label] for label in predictions], [[label] for label in gold])


def _tag_counts(predictions: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> np.ndarray:
    """How often each label is right, predicted, and gold in each item, (items, labels * 3)."""
    item = np.repeat(np.arange(len(gold)), [len(tags) for tags in gold])
    ids: dict[str, int] = {}
    guessed, right = (
        np.array([ids.setdefault(tag, len(ids)) for tags in rows for tag in tags], dtype=np.int64)
        for rows in (predictions, gold)
    )
    hit = guessed == right
    columns = ((item[hit], right[hit]), (item, guessed), (item, right))
    size = len(gold) * len(ids)
    counts = [np.bincount(items * len(ids) + labels, minlength=size) for items, labels in columns]
    return np.stack(counts, axis=-1).reshape(len(gold), 3 * len(ids))


def _macro_f1(counts: np.ndarray) -> np.ndarray:
    """The mean of F1 over the labels that are in gold or predicted."""
    by_label = counts.reshape(*counts.shape[:-1], -1, 3)
    f1 = quotient(2 * by_label[..., 0], by_label[..., 1] + by_label[..., 2])
    return mean_of_defined(f1)
