"""The pieces that occur in training data: the only rows of the embeddings that each member needs for itself."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional


class Vocabulary:
    r"""A table of embeddings, cut down to the pieces of some training data, for M encoders at once.

    A multilingual table is most of a small encoder (250,037 rows of 384 numbers: 96 million), and M copies with Adam's
    two moments would fill a GPU. But a piece that does not occur in the training data gets no gradient, its moments
    stay zero, and all that AdamW does to its row in step t is to multiply it by $1 - \eta_t \lambda$ ($\eta_t$ the
    learning rate of a member, $\lambda$ the weight decay). So members hold the rows of the pieces that occur; all
    others are one shared table times the product of a member's factors, `shrunk`. Nothing is lost: the result is that
    of training the full table.

    Args:
        table: The pretrained embeddings, (vocabulary, width).
        pieces: All ids that occur in the training data, in any order and number.
        padding: Ids that batches are padded with, or whose row learns nothing.

    Attributes:
        ids: The ids that members have rows for, ascending, (rows,).
        table: The full table on the device of `to`.
        shrunk: What weight decay has left of the rows that no member has, for each member; empty before the first step.
    """

    def __init__(self, table: Tensor, pieces: Iterable[int], padding: Iterable[int]) -> None:
        self.ids = torch.tensor(sorted({*pieces, *padding}), dtype=torch.long)
        self.table = table.detach()
        self.shrunk: list[float] = []
        self._row = torch.full((len(table),), -1, dtype=torch.long)
        self._row[self.ids] = torch.arange(len(self.ids))

    def to(self, device: torch.device) -> "Vocabulary":
        """Move everything to a device."""
        self.ids, self.table, self._row = (t.to(device) for t in (self.ids, self.table, self._row))
        return self

    def start(self) -> Tensor:
        """The rows that a member begins with, (rows, width)."""
        return self.table[self.ids]

    def row(self, piece: int) -> int:
        """The row of a piece that occurs."""
        return int(torch.searchsorted(self.ids.cpu(), piece))

    def decay(self, factors: Sequence[float]) -> None:
        """What a step with these factors of weight decay, one a member, does to the rows that no member has."""
        before = self.shrunk or [1.0] * len(factors)
        self.shrunk = [left * factor for left, factor in zip(before, factors, strict=True)]

    def embed(self, rows: Tensor, ids: Tensor, *, all_occur: bool) -> Tensor:
        """Embeddings of pieces, (batch, seq), in every member, whose own rows are (members, rows, width).

        With `all_occur` all of them occur in the training data, as they do in training.

        Returns:
            (members, batch, seq, width).
        """
        local = self._row[ids]
        own = look_up(rows, local.clamp(min=0))
        if all_occur:
            return own
        shrunk = torch.tensor(self.shrunk or [1.0], device=ids.device).view(-1, 1, 1, 1)
        return torch.where((local < 0).unsqueeze(-1), self.table[ids] * shrunk, own)

    def whole(self, rows: Tensor, member: int) -> Tensor:
        """The full table of one member, (vocabulary, width), from its own rows, (rows, width)."""
        shrunk = self.shrunk[member] if self.shrunk else 1.0
        return (self.table * shrunk).index_copy(0, self.ids, rows)


def look_up(tables: Tensor, ids: Tensor) -> Tensor:
    """Rows of M tables, through one embedding: its gradient is added up in one kernel, however often a row occurs.

    Tables are (members, rows, width); ids, (batch, seq), are the same for all.

    Returns:
        (members, batch, seq, width).
    """
    members, count, width = tables.shape
    shift = torch.arange(members, device=ids.device).view(-1, 1, 1) * count
    return functional.embedding(ids + shift, tables.reshape(-1, width))
