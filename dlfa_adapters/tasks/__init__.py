"""The tasks known by name. A new one is a file beside these and a place in `TASKS`, or a call of `register_task`."""

from dlfa_adapters.tasks.base import Task, TaskKind
from dlfa_adapters.tasks.generic import classification_task, is_span_task, labels_in_order, tagging_task
from dlfa_adapters.tasks.ner import NER
from dlfa_adapters.tasks.pawsx import PAWSX
from dlfa_adapters.tasks.pos import POS
from dlfa_adapters.tasks.registry import TASKS, get_task, register_task
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
    "register_task",
    "tagging_task",
]
