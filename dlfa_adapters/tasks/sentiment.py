"""Sentiment of a text: three classes, accuracy and macro-F1 (XLM-T; Barbieri et al. 2022, arXiv 2104.12250)."""

from dlfa_adapters.tasks.base import Task

SENTIMENT = Task(
    name="sentiment",
    kind="classification",
    # XLM-T's files write them as 0, 1, 2, in this order.
    labels=("negative", "neutral", "positive"),
    metric="accuracy",
)
