"""In which order a training sees its rows: another one in each epoch, with rows of like length in one batch."""

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler


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
