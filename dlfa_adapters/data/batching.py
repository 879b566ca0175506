"""Batches of similar length, their padding, and the order in which a training sees its rows."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.data import Sampler

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


class SameLengthSampler(Sampler[int]):
    """An order in which batches hold rows of like length: shuffled, then sorted within stretches of eight batches.

    Args:
        lengths: Pieces of each row.
        batch_size: Rows of a step, over all processes.
        seed: Of the order.
        one_stream: By default the order depends on the seed and the epoch alone, so that a resumed training goes on
            where it was cut, and a batch that is not full comes last, as Trainer has it. With `one_stream` the same
            random numbers run through all epochs, each of which is asked for once, and that batch stands anywhere: the
            order of heads on frozen states.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int, *, one_stream: bool = False) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0
        self._stream = torch.Generator().manual_seed(seed) if one_stream else None

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> list[list[int]]:
        """The batches of an epoch."""
        generator = self._stream or torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator).tolist()
        batches = []
        for start in range(0, len(order), 8 * self.batch_size):
            part = sorted(order[start : start + 8 * self.batch_size], key=self.lengths.__getitem__)
            batches += [part[i : i + self.batch_size] for i in range(0, len(part), self.batch_size)]
        full = [batch for batch in batches if self._stream or len(batch) == self.batch_size]
        short = batches[len(full) :]  # at most one, and the last
        return [full[i] for i in torch.randperm(len(full), generator=generator).tolist()] + short

    def epochs(self, steps: int) -> Iterator[list[list[int]]]:
        """The batches of each epoch, as many as there are steps in all."""
        epoch = 0
        while steps > 0:
            self.set_epoch(epoch)
            batches = self.batches()[:steps]
            yield batches
            steps, epoch = steps - len(batches), epoch + 1
