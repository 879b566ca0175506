"""The tasks known by name. A new one is a file beside these and a line in `TASKS`."""

from dlfa_adapters.tasks.base import Task, TaskKind
from dlfa_adapters.tasks.generic import classification_task, is_span_task, labels_in_order, tagging_task
from dlfa_adapters.tasks.ner import NER
from dlfa_adapters.tasks.pawsx import PAWSX
from dlfa_adapters.tasks.pos import POS
from dlfa_adapters.tasks.sentiment import SENTIMENT
from dlfa_adapters.tasks.topic import TOPIC
from dlfa_adapters.tasks.xnli import XNLI

__all__ = [
    "NER",
    "PAWSX",
    "POS",
    "SENTIMENT",
    "TASKS",
    "TOPIC",
    "XNLI",
    "Task",
    "TaskKind",
    "classification_task",
    "get_task",
    "is_span_task",
    "labels_in_order",
    "tagging_task",
]

TASKS: dict[str, Task] = {task.name: task for task in (NER, POS, XNLI, PAWSX, TOPIC, SENTIMENT)}


def get_task(name: str) -> Task | None:
    """The task with this name, or None where the library knows none; matching is exact."""
    return TASKS.get(name)
