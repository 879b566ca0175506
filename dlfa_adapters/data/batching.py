"""Batches of similar length, and their padding."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from dlfa_adapters.data.pooling import IGNORED


class HasInputIds(Protocol):
    """A window or an encoded text."""

    @property
    def input_ids(self) -> list[int]:
        """The pieces, special tokens included."""
        ...


def pad_batch(
    items: Sequence[HasInputIds], pad_token_id: int | None, *, labels: Sequence[Sequence[int]] | None = None
) -> dict[str, Tensor]:
    """Pads items to the longest of them, always on the right, whatever the tokenizer's `padding_side`.

    Args:
        items: Windows, or texts from `encode_texts`.
        pad_token_id: The tokenizer's; None (it has none) is taken as 0, which the attention mask hides.
        labels: Label ids of each item's pieces, padded with -100.

    Returns:
        `input_ids` and `attention_mask`, `(items, longest)`; `token_type_ids` where the items have them; `labels`
        where given.
    """
    longest = max((len(item.input_ids) for item in items), default=0)

    def padded(rows: Sequence[Sequence[int]], filling: int) -> Tensor:
        return torch.tensor([[*row, *[filling] * (longest - len(row))] for row in rows], dtype=torch.long).reshape(
            len(rows), longest
        )

    batch = {
        "input_ids": padded([item.input_ids for item in items], pad_token_id or 0),
        "attention_mask": padded([[1] * len(item.input_ids) for item in items], 0),
    }
    type_ids = [getattr(item, "token_type_ids", None) for item in items]
    if items and all(row is not None for row in type_ids):
        batch["token_type_ids"] = padded([row for row in type_ids if row is not None], 0)
    if labels is not None:
        batch["labels"] = padded(labels, IGNORED)
    return batch
