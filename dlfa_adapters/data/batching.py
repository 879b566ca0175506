"""Batches of similar length under a budget of tokens, and their padding."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from dlfa_adapters.data.pooling import IGNORED
from dlfa_adapters.errors import ConfigError


class HasInputIds(Protocol):
    """A window or an encoded text."""

    @property
    def input_ids(self) -> list[int]:
        """The pieces, special tokens included."""
        ...


def token_budget_batches(
    lengths: Sequence[int], max_tokens: int, max_items: int | None = None, enough: int | None = None
) -> list[list[int]]:
    """Groups items of similar length so that no batch, once padded, has more than `max_tokens` tokens.

    The longest come first: if the memory is too small, this shows at once. The batches hold indices, by which results
    are put back in the order of the input.

    Args:
        lengths: Tokens of each item.
        max_tokens: Most tokens in a padded batch; an item that alone has more is a batch of its own.
        max_items: Most items in a batch.
        enough: A batch with so many tokens takes no item that is shorter than nine tenths of its longest, which would
            be padding to a tenth and more.

    Returns:
        Indices of the items of each batch; every index is in exactly one.

    Raises:
        ConfigError: If a limit is smaller than one.
    """
    if max_tokens < 1 or (max_items is not None and max_items < 1):
        raise ConfigError(
            f"expected max_tokens and max_items of at least 1, got {max_tokens} and {max_items}; type max_tokens=8192."
        )
    batches: list[list[int]] = []
    width = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        items = len(batches[-1]) if batches else 0
        uneven = enough is not None and items * width >= enough and lengths[index] < 0.9 * width
        if not batches or (items + 1) * width > max_tokens or items == max_items or uneven:
            batches.append([])
            width = lengths[index]
        batches[-1].append(index)
    return batches


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
