"""The tasks known by name. A new one is a file beside these and a line in `TASKS`."""

from dlfa_adapters.tasks.base import Task, TaskKind
from dlfa_adapters.tasks.ner import NER
from dlfa_adapters.tasks.pawsx import PAWSX
from dlfa_adapters.tasks.pos import POS
from dlfa_adapters.tasks.xnli import XNLI

__all__ = ["NER", "PAWSX", "POS", "TASKS", "XNLI", "Task", "TaskKind", "get_task"]

TASKS: dict[str, Task] = {task.name: task for task in (NER, POS, XNLI, PAWSX)}


def get_task(name: str) -> Task | None:
    """The task with this name, or None where the library knows none; matching is exact."""
    return TASKS.get(name)
