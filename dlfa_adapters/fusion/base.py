"""The interface of a fusion: states of some layers in, one state out; and what all of them need."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn


def token_shape(inputs: Mapping[str, Any]) -> torch.Size | None:
    """The shape of the tokens in a model's arguments, e.g. (batch, seq): of ids, or of embeddings without their width.

    Without `input_ids` and `inputs_embeds` there is no shape.
    """
    ids, embeddings = inputs.get("input_ids"), inputs.get("inputs_embeds")
    if ids is not None:
        return ids.shape
    return None if embeddings is None else embeddings.shape[:-1]


def check_mask(attention_mask: Tensor | None, shape: Sequence[Any] | None) -> None:
    """Refuse a mask that is not one value a token; while a model is exported, the numbers of a shape are symbols.

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
    in which they are given, then the last one; which states those are says `fusion.build.state_indices`.
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


def select_states(
    indices: Sequence[int],
    hidden_states: Sequence[Float[Tensor, "batch seq width"]],
    last_hidden_state: Float[Tensor, "batch seq width"],
) -> tuple[Float[Tensor, "batch seq width"], ...]:
    """Pick the states by index: the one place where that is done. The upper one is always `last_hidden_state`.

    Some encoders norm `last_hidden_state` but not `hidden_states[-1]`, or the other way round, so the two differ.

    Args:
        indices: From `state_indices`.
        hidden_states: The L + 1 states of an encoder.
        last_hidden_state: Its `last_hidden_state`.
    """
    last = len(hidden_states) - 1
    return tuple(last_hidden_state if k == last else hidden_states[k] for k in indices)


@dataclass(frozen=True)
class Weights:
    """Weights of many heads of one architecture at once, (heads, ...) each, under the names that the modules have.

    The stacked form of a fusion computes with tensors of (heads, channels, tokens): the tokens of all windows of a
    batch one after the other, without padding. So a position-wise map is one product a head, and batch normalisation,
    whose statistics are over real tokens, is the fused kernel of PyTorch on heads times channels: a step takes a tenth
    of the operations that the modules take under `vmap`. The modules are what the stacked forms are tested against.

    A stacked form is called as `form(options, weights, states, batch)`: the options of one of the heads, which the
    others share up to first weights; weights inside the fusion; states as the module takes them, (heads, width, tokens)
    each, or (1, width, tokens) where all heads take the same; and a `Batch` of `learning.frozen.batch`, which knows
    the tokens of each window. It gives (heads, width, tokens), or (1, width, tokens) where nothing differs.

    Attributes:
        parameters: What learns.
        buffers: Running statistics.
        training: Whether batch statistics are used and the running ones updated.
        prefix: The part of the names that all that is looked up has in common.
    """

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    training: bool
    prefix: str = ""

    def __getitem__(self, name: str) -> Tensor:
        """A parameter."""
        return self.parameters[self.prefix + name]

    def inside(self, name: str) -> "Weights":
        """Those of a submodule."""
        return replace(self, prefix=f"{self.prefix}{name}.")


def linear(weights: Weights, x: Tensor) -> Tensor:
    """A position-wise map: (heads or 1, in, tokens) to (heads, out, tokens)."""
    weight = weights["weight"]
    return torch.baddbmm(weights["bias"].unsqueeze(-1), weight, x.expand(len(weight), -1, -1))


def as_bool(mask: Shaped[Tensor, "*sizes"]) -> Bool[Tensor, "*sizes"]:
    """Whether each position is real."""
    return mask if mask.dtype == torch.bool else mask != 0


def in_dtype(tensor: Shaped[Tensor, "*sizes"], dtype: torch.dtype) -> Shaped[Tensor, "*sizes"]:
    """The tensor in a dtype. `to` alone costs as much as a small kernel even where there is nothing to do."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype to compute statistics in: float32 at least."""
    return dtype if dtype.itemsize >= 4 else torch.float32


def over_processes(*sums: Tensor) -> tuple[Tensor, ...]:
    """Sums over all processes that train together, through which gradients flow back to each; in one message.

    Args:
        *sums: What this process has, the first one in floating point; each of one shape everywhere.

    Returns:
        The sums; the tensors themselves in a single process.
    """
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return sums
    message = torch.cat([tensor.to(sums[0].dtype).flatten() for tensor in sums])
    parts = _Sum.apply(message).split([tensor.numel() for tensor in sums])
    return tuple(part.reshape(tensor.shape) for part, tensor in zip(parts, sums, strict=True))


class _Sum(torch.autograd.Function):
    """The sum over all processes. Each one's loss depends on it, so the gradient is the sum of all theirs."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor) -> Tensor:
        """Add up what the processes have."""
        summed = sums.clone()
        torch.distributed.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Add up what the processes' losses ask for."""
        summed = gradient.clone()
        torch.distributed.all_reduce(summed)
        return summed
