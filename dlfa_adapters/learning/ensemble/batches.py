"""Rows of training data on the device, cut into batches without the host waiting for it."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dlfa_adapters.data.pooling import IGNORED


class HasRow(Protocol):
    """A row of `training.dataset.Examples`."""

    @property
    def input_ids(self) -> list[int]:
        """Pieces, special ones included."""
        ...

    @property
    def token_type_ids(self) -> list[int] | None:
        """As the tokenizer gave them, or None."""
        ...

    @property
    def labels(self) -> list[int] | int:
        """A label id a piece, or one for the text."""
        ...


class Batch(NamedTuple):
    """What all members see in a step.

    Attributes:
        ids: (batch, seq).
        mask: Ones at real pieces, (batch, seq).
        types: Token type ids, (batch, seq), or None.
        positions: Where logits are wanted, as row * seq + column, (items,).
        gold: Their label ids, -100 where none counts, (items,).
        padded: Whether there is padding; known without asking the device.
    """

    ids: Tensor
    mask: Tensor
    types: Tensor | None
    positions: Tensor
    gold: Tensor
    padded: bool


class DeviceRows:
    """Rows without padding, one after the other, on a device.

    Args:
        rows: From `training.dataset.Examples`.
        padding: What `ids` are padded with.
        device: Where to.

    Attributes:
        lengths: Pieces of each row.
    """

    def __init__(self, rows: Sequence[HasRow], padding: int, device: torch.device) -> None:
        self.lengths, self.padding, self.device = [len(row.input_ids) for row in rows], padding, device
        self._sizes = torch.tensor(self.lengths, device=device)
        self._starts = self._sizes.cumsum(0) - self._sizes
        self._ids = torch.tensor(list(chain.from_iterable(row.input_ids for row in rows)), device=device)
        self._types = self._labels = self._label = None
        if all(row.token_type_ids is not None for row in rows):
            self._types = torch.tensor([i for row in rows for i in row.token_type_ids or ()], device=device)
        if rows and isinstance(rows[0].labels, int):
            self._label = torch.tensor([row.labels for row in rows], device=device)
        else:
            pieces = [label for row in rows if not isinstance(row.labels, int) for label in row.labels]
            self._labels = torch.tensor(pieces, dtype=torch.long, device=device)

    def batches(self, order: Sequence[Sequence[int]]) -> Iterator[Batch]:
        """Batches of rows padded on the right to their longest.

        Args:
            order: The rows of each batch.
        """
        whole = torch.tensor(list(chain.from_iterable(order)), dtype=torch.long).to(self.device)
        for rows, chosen in zip(whole.split([len(batch) for batch in order]), order, strict=True):
            yield self._batch(rows, [self.lengths[i] for i in chosen])

    def _batch(self, rows: Tensor, lengths: list[int]) -> Batch:
        seq = max(lengths)
        column = torch.arange(seq, device=self.device)
        mask = column < self._sizes[rows, None]
        at = torch.where(mask, self._starts[rows, None] + column, 0)

        def padded(flat: Tensor, filling: int) -> Tensor:
            return torch.where(mask, flat[at], filling)

        types = None if self._types is None else padded(self._types, 0)
        if self._label is not None:  # a text speaks through its first piece
            positions, gold = torch.arange(len(lengths), device=self.device) * seq, self._label[rows]
        else:
            assert self._labels is not None
            positions = torch.arange(len(lengths) * seq, device=self.device)
            gold = padded(self._labels, IGNORED).flatten()
        return Batch(padded(self._ids, self.padding), mask.long(), types, positions, gold, min(lengths) < seq)
