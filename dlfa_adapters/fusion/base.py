"""The interface of a fusion: states of some layers in, one state out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn


def one_of(option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse an option's value that is not in the list.

    Raises:
        ValueError: Naming the option, the allowed values and the one that came.
    """
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(allowed)}; got {value!r}.")


def true_or_false(option: str, value: object) -> None:
    """Refuse an option's value that only counts as true or false.

    Raises:
        ValueError: Naming the option and what came.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{option} must be True or False; got {value!r}.")


def token_shape(inputs: Mapping[str, Any]) -> torch.Size | None:
    """The shape of the tokens in a model's arguments, e.g. (batch, seq): of ids, or of embeddings without their width.

    Args:
        inputs: Arguments by name; without `input_ids` and `inputs_embeds` there is no shape.
    """
    ids, embeddings = inputs.get("input_ids"), inputs.get("inputs_embeds")
    if ids is not None:
        return ids.shape
    return None if embeddings is None else embeddings.shape[:-1]


def check_mask(attention_mask: Tensor | None, shape: Sequence[Any] | None) -> None:
    """Refuse a mask that is not one value a token.

    Args:
        attention_mask: The mask, if there is one.
        shape: The shape of the tokens, if it is known; its numbers are symbols while a model is exported.

    Raises:
        ValueError: Naming both shapes.
    """
    if attention_mask is not None and shape is not None and tuple(attention_mask.shape) != tuple(shape):
        raise ValueError(
            f"attention_mask must have the shape of the tokens, {tuple(shape)}, got {tuple(attention_mask.shape)}; "
            "give 1 for each real token and 0 for each of padding."
        )


def check_sizes(hidden_size: int, reduction: int | float, num_lower: int = 1) -> None:
    """Refuse sizes that no fusion can be built with.

    Raises:
        ValueError: If E / r is below 1, or there is no lower layer.
    """
    if isinstance(reduction, bool) or not 0 < reduction <= hidden_size:
        raise ValueError(
            f"reduction must lie above 0 and up to the width {hidden_size}, got {reduction!r}; type reduction=4."
        )
    if num_lower < 1:
        raise ValueError(f"num_lower must be at least 1, got {num_lower}; type num_lower=1.")


class Fusion(nn.Module, ABC):
    """A module that makes one state of several.

    Every fusion is called as `fusion(*lower, upper, attention_mask=mask)`: the states of the fuse layers in the order
    in which they are given, then the last one; which states those are says `fusion.select.state_indices`.
    """

    @abstractmethod
    def forward(
        self,
        *states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Fuse.

        Args:
            *states: Hidden states, (batch, seq, width) each.
            attention_mask: Non-zero at real tokens, (batch, seq). Without it all are.

        Returns:
            The fused state, (batch, seq, width).
        """

    def reset_parameters(self) -> None:
        """Draw the weights anew; a fusion without weights has nothing to do."""


def check_count(name: str, states: tuple[Tensor, ...], expected: int) -> None:
    """Refuse a call with the wrong number of states.

    Raises:
        ValueError: Naming both numbers.
    """
    if len(states) != expected:
        raise ValueError(f"{name} fuses {expected} states (the last one the upper layer), got {len(states)}.")
