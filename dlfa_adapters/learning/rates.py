"""Groups of parameters with rates of their own: the head, and all below it."""

from collections.abc import Collection
from typing import Any


def parameter_groups(
    model: Any, decayed: Collection[str], *, weight_decay: float, learning_rate: float, head_learning_rate: float
) -> list[dict[str, Any]]:
    """Trainable parameters for an optimiser.

    Args:
        model: The model.
        decayed: Names of the parameters that decay; biases and norms do not.
        weight_decay: How much they do.
        learning_rate: Of encoder and adapters.
        head_learning_rate: Of fusion and classifier.

    Returns:
        Up to four groups, each with a `name`; empty ones are left out.
    """
    groups: dict[str, dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        head, decays = is_of_head(name), name in decayed
        group = groups.setdefault(
            f"{'head' if head else 'encoder'}, {'decayed' if decays else 'not decayed'}",
            {
                "params": [],
                "lr": head_learning_rate if head else learning_rate,
                "weight_decay": weight_decay if decays else 0.0,
            },
        )
        group["params"].append(parameter)
    return [{"name": name, **group} for name, group in groups.items()]


def is_of_head(name: str) -> bool:
    """Whether a parameter of this name is fusion's or classifier's, in a model of adapters or a plain one."""
    return name.startswith("heads.") or ".heads." in name or ".fusion." in name or ".classifier." in name
