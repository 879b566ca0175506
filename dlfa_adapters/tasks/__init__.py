"""The tasks known by name. A new one is an entry in `TASKS`, or a call of `register_task`."""

from dlfa_adapters.tasks.labels import classification_task, is_span_task, labels_in_order, tagging_task
from dlfa_adapters.tasks.task import (
    KINDS,
    NER,
    PAWSX,
    POS,
    SENTIMENT,
    TASKS,
    TOPIC,
    XNLI,
    KindOfTask,
    Task,
    get_task,
    register_task,
)

__all__ = [
    "KINDS",
    "NER",
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
