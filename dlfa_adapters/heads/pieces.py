"""How likely a masked language model finds a piece at a position of a row, without logits of all other positions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.heads.masked_lm import MaskedLMHead


@torch.no_grad()
def log_probabilities(model: Any, inputs: Mapping[str, Tensor], positions: Tensor, pieces: Tensor) -> Tensor:
    """The logarithm of the probability of a piece at a position of each row, (rows,), in float32.

    Exactly what all logits of the model give there: its decoder reads this position of each row and no other. With a
    vocabulary of 250,000 the decoder costs more than the encoder, position by position.

    Args:
        model: From `load_masked_lm`, in eval mode.
        inputs: What it reads, (rows, seq) each.
        positions: A position in each row, (rows,).
        pieces: A piece for each, (rows,).
    """
    with _read_at(model, positions) as is_read:
        logits = model(**inputs, return_dict=True).logits
    if is_read:
        logits = logits[:, 0]
    else:
        logits = logits[torch.arange(len(positions), device=logits.device), positions]
    return logits.float().log_softmax(-1).gather(1, pieces[:, None])[:, 0]


@contextmanager
def _read_at(model: Any, positions: Tensor) -> Iterator[bool]:
    """Within, the decoder reads one position of each row, so that logits are (rows, 1, pieces).

    Gives whether it does; of a model without output embeddings by themselves it cannot, and logits are all there.
    """
    heads = getattr(model, "heads", None)
    head = None if heads is None else heads[model.active_head]
    if isinstance(head, MaskedLMHead):
        head.positions = positions
        try:
            yield True
        finally:
            head.positions = None
        return
    output = model.get_output_embeddings()
    if output is None:
        yield False
        return
    rows = torch.arange(len(positions), device=positions.device)
    handle = output.register_forward_pre_hook(lambda module, args: (args[0][rows, positions][:, None], *args[1:]))
    try:
        yield True
    finally:
        handle.remove()
