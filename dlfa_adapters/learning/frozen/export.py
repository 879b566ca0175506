"""From a head trained on frozen states to a head on a model."""

from collections.abc import Sequence
from typing import Any

from dlfa_adapters.learning.frozen.kept import TrainedHead


def add_trained_head(
    model: Any, head_name: str, trained: TrainedHead, labels: Sequence[str], head_type: str = "tagging"
) -> None:
    """Add a head with the trained weights to an adapter model, and activate it.

    Args:
        model: The model whose encoder the states were computed with.
        head_name: Name of the head; one of that name is replaced.
        trained: From `train_heads`.
        labels: Label names by id.
        head_type: `tagging` or `classification`.
    """
    model.add_dlfa_head(
        head_name,
        head_type=head_type,
        id2label=dict(enumerate(labels)),
        overwrite_ok=True,
        layers=1,
        **trained.spec.head.keywords(),
    )
    head = model.heads[head_name]
    for prefix, module in (("fusion.", head.fusion), ("classifier.", head.inner[-1])):
        module.load_state_dict(
            {name[len(prefix) :]: value for name, value in trained.state_dict.items() if name.startswith(prefix)}
        )
