"""One state for a whole text: that of its first or last real token, or the mean over them."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from dlfa_adapters.fusion.aif import mean_over_tokens
from dlfa_adapters.fusion.base import one_of

POOLINGS = ("first", "last", "mean")
"""Which token speaks for a text, or which piece for a word."""


def first_real_token(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None
) -> Float[Tensor, "batch width"]:
    """The state of each text's first real token: with left padding that is not the first."""
    if attention_mask is None:
        return states[:, 0]
    return _at((attention_mask != 0).to(torch.uint8).argmax(1), states)


def last_real_token(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None
) -> Float[Tensor, "batch width"]:
    """The state of each text's last real token: with right padding that is not the last."""
    if attention_mask is None:
        return states[:, -1]
    return _at(states.shape[1] - 1 - (attention_mask != 0).to(torch.uint8).flip(1).argmax(1), states)


def pool_tokens(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None, pooling: str
) -> Float[Tensor, "batch width"]:
    """One state a text.

    Args:
        states: States of its tokens, (batch, seq, width).
        attention_mask: Non-zero at real tokens, (batch, seq). Without it all are.
        pooling: A name of `POOLINGS`.

    Raises:
        ValueError: If the name is none of them.
    """
    one_of("pooling", pooling, POOLINGS)
    if pooling == "mean":
        return mean_over_tokens(states, attention_mask)[0].squeeze(1)
    return (first_real_token if pooling == "first" else last_real_token)(states, attention_mask)


def _at(positions: Tensor, states: Tensor) -> Tensor:
    return states[torch.arange(states.shape[0], device=states.device), positions]
