"""Label names of the model's configuration, which follow the active head."""

from collections.abc import Iterable
from typing import Any

from transformers import PretrainedConfig


def follow_active_head(config: Any, heads: Iterable[Any]) -> None:
    """Set `config.id2label` and `config.label2id` to the active head's.

    With several heads, none, or one without label names the defaults of Transformers come back, never None.

    Args:
        config: The model's configuration.
        heads: The active heads.
    """
    active = list(heads)
    label2id = active[0].config.get("label2id") if len(active) == 1 else None
    if label2id:
        config.id2label = {int(id_): name for name, id_ in label2id.items()}
    else:
        config.id2label = PretrainedConfig().id2label
    config.label2id = {name: id_ for id_, name in config.id2label.items()}
