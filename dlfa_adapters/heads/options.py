"""From what a user types in `add_dlfa_head` to the options of a head."""

from collections.abc import Mapping
from typing import Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.schema import INNER_HEAD_TYPES
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.tasks import TASKS, get_task
from dlfa_adapters.tasks.labels import check_id2label, label_names


def resolve_labels(
    head_name: str,
    head_type: str | None,
    num_labels: int | None,
    num_choices: int | None,
    id2label: Mapping[Any, str] | None,
) -> dict[str, Any]:
    """Head type and labels, from the arguments or from the task that the head's name stands for.

    Returns:
        `inner_head_type`, `id2label`, `num_labels`, `num_choices` for `DLFAHead`.

    Raises:
        ConfigError: If the name is no known task and type or labels are missing, or labels and their number differ.
    """
    task = get_task(head_name)
    if head_type is None:
        if task is None:
            raise ConfigError(_unknown(head_name, "head_type"))
        head_type = kind_named(task.kind).head_types[0]
    if head_type not in INNER_HEAD_TYPES:
        raise ConfigError(f"head_type must be one of {', '.join(INNER_HEAD_TYPES)}; got {head_type!r}.")
    names = check_id2label(id2label)
    task = task if task is not None and kind_named(task.kind).head_types[0] == head_type else None
    count = num_choices if num_choices is not None else num_labels
    if num_choices is not None and head_type != "multiple_choice":
        raise ConfigError(
            f"num_choices is for head_type='multiple_choice', got {head_type!r}; type num_labels instead."
        )
    if head_type == "question_answering":  # a start and an end score a token
        count = 2 if count is None else count
        if count != 2 or (names is not None and len(names) != 2):
            raise ConfigError("A question_answering head has 2 outputs, start and end; leave num_labels out.")
    if names is None and count is None and task is None:
        raise ConfigError(_unknown(head_name, "num_labels or id2label"))
    names = label_names(task, count, names)
    size = "num_choices" if head_type == "multiple_choice" else "num_labels"
    return {"inner_head_type": head_type, "id2label": names, size: len(names)}


def _unknown(head_name: str, missing: str) -> str:
    return (
        f"{head_name!r} is not a task known by name ({', '.join(TASKS)}), so {missing} must be given; type e.g. "
        f"model.add_dlfa_head({head_name!r}, head_type='classification', num_labels=4, fuse_layer=6)."
    )
