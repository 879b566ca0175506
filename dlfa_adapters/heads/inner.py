"""The stock heads that a DLFA head can stand in front of: their type and labels, and what they are called with."""

import copy
import difflib
import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from adapters.heads import PredictionHead
from adapters.heads.model_mixin import MODEL_HEAD_MAP
from torch import Tensor

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.own import OwnInnerHead
from dlfa_adapters.heads.schema import check_inner_head_type
from dlfa_adapters.kinds import kind_named, kind_of_head
from dlfa_adapters.tasks import TASKS, check_id2label, get_task, label_names
from dlfa_adapters.tasks.head_options import HeadOptions


def inner_head(
    model: Any,
    head_name: str,
    head_type: str,
    num_labels: int | None,
    num_choices: int | None,
    id2label: dict[int, str] | None,
    options: dict[str, Any],
) -> PredictionHead:
    """Build the stock head, or one of a kind's own, with every label named.

    Raises:
        ConfigError: If the type or an option is not one that it has.
    """
    check_inner_head_type(head_type)
    if options.pop("use_pooler", False):
        raise ConfigError("use_pooler=True would go around the fusion: the pooler reads the last layer; leave it out.")
    size = "num_choices" if head_type == "multiple_choice" else "num_labels"
    count = num_choices if head_type == "multiple_choice" else num_labels
    names = check_id2label(id2label) or {i: f"LABEL_{i}" for i in range(count or 0)}
    kind = kind_of_head(head_type)
    if kind is not None and head_type in kind.own_heads:
        return OwnInnerHead(model, head_name, kind, head_type, names, kind.own_options(head_type, options))
    cls = MODEL_HEAD_MAP[head_type]
    known = set(inspect.signature(cls).parameters) - {"model", "head_name", "use_pooler", "id2label", size}
    ours = HeadOptions.known()
    for option in options:
        if option not in known:
            close = difflib.get_close_matches(option, known, 1) or difflib.get_close_matches(option, ours, 1)
            raise ConfigError(
                f"A {head_type} head has no option {option!r}; "
                + (f"did you mean {close[0]!r}?" if close else f"it has {', '.join(sorted(known)) or 'none'}.")
            )
    layers = options.get("layers", 1)
    if isinstance(layers, bool) or not isinstance(layers, int) or layers < 1:
        raise ConfigError(f"layers, the linear maps of a head, must be a whole number from 1 up; got {layers!r}.")
    try:
        return cls(model, head_name, id2label=names, **{size: len(names)}, **options)
    except (KeyError, TypeError, ValueError) as error:  # torch's and Transformers', about a value
        raise ConfigError(f"A {head_type} head cannot be built with {options} ({error}).") from error


def of_width(model: Any, width: int) -> Any:
    """What a stock head reads of a model, with states of another width: its configuration, first weights, and mode."""
    config = copy.copy(model.config)
    config.hidden_size = width
    return SimpleNamespace(config=config, _init_weights=model._init_weights, training=model.training)


def with_prompt(attention_mask: Tensor | None, prompt_tokens_length: int | None) -> Tensor | None:
    """The mask with the prompt's tokens, all real, in front: prompt tuning lengthens the states on the left."""
    if attention_mask is None or not prompt_tokens_length:
        return attention_mask
    prompt = attention_mask.new_ones((attention_mask.shape[0], prompt_tokens_length))
    return torch.cat((prompt, attention_mask), dim=1)


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
    check_inner_head_type(head_type)
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
