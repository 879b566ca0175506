"""Tasks by name: those of the library, and those that a user registers."""

from typing import get_args

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks.base import Task, TaskKind
from dlfa_adapters.tasks.generic import check_labels, is_span_task
from dlfa_adapters.tasks.names import check_new_name
from dlfa_adapters.tasks.ner import NER
from dlfa_adapters.tasks.pawsx import PAWSX
from dlfa_adapters.tasks.pos import POS
from dlfa_adapters.tasks.sentiment import SENTIMENT
from dlfa_adapters.tasks.topic import TOPIC
from dlfa_adapters.tasks.xnli import XNLI

TASKS: dict[str, Task] = {task.name: task for task in (NER, POS, XNLI, PAWSX, TOPIC, SENTIMENT)}

_OURS = frozenset(TASKS)


def get_task(name: str) -> Task | None:
    """The task with this name, or None where the library knows none; matching is exact."""
    return TASKS.get(name)


def register_task(task: Task, *, overwrite_ok: bool = False) -> Task:
    """Make a task known by its name: in `model.add_dlfa_head("name")`, `train("name")` and `load_data(task="name")`.

    Args:
        task: E.g. from `tagging_task` or `classification_task`; or a `Task` with languages and a fuse layer of its own.
        overwrite_ok: Whether a task that was registered under this name before may be replaced.

    Returns:
        The task.

    Raises:
        ConfigError: If the name is bad, taken, or one of the library's own; or kind, labels, metric and fuse layer do
            not fit together.
    """
    check_new_name("task", task.name, TASKS, _OURS, overwrite_ok)
    check_labels(task.name, task.labels)
    if task.kind not in get_args(TaskKind):
        raise ConfigError(f"task {task.name!r}: kind must be one of {', '.join(get_args(TaskKind))}, got {task.kind!r}")
    metrics = ("accuracy", "span_f1") if task.kind == "tagging" and is_span_task(task.labels) else ("accuracy",)
    if task.metric not in metrics:
        raise ConfigError(
            f"task {task.name!r}: expected the metric {' or '.join(metrics)} for {task.kind} with these labels, got "
            f"{task.metric!r}"
        )
    if task.pair and task.kind == "tagging":
        raise ConfigError(f"task {task.name!r}: pairs of texts are classified, not tagged; leave pair out")
    if task.fuse_layer_of_12 is not None and not 0 <= task.fuse_layer_of_12 <= 12:
        raise ConfigError(f"task {task.name!r}: fuse_layer_of_12 must lie in 0..12, got {task.fuse_layer_of_12}")
    TASKS[task.name] = task
    return task
