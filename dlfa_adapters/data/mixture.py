"""Rows of several sources in the shares that are asked for, drawn so that a training can go on anywhere.

The source of each row is drawn with the probability of the source; the rows of a source come in a random order, each
of them before one comes again. All of it depends on the seed and the number of the epoch alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

_EPOCHS, _PASSES = 0, 1  # what random numbers are for


def shares_by_temperature(counts: Mapping[str, int], temperature: float = 1.0) -> dict[str, float]:
    """How often each source is drawn, by its number of rows n: p ~ n^(1/T).

    With T = 1 every row is as likely as every other; the greater T, the more alike the sources (Arivazhagan et al.
    2019, arXiv 1907.05019, Section 4.2).
    """
    most = max(counts.values())
    return shares_by_weight({name: (count / most) ** (1 / temperature) for name, count in counts.items()})


def shares_by_weight(weights: Mapping[str, float]) -> dict[str, float]:
    """How often each source is drawn: its weight as a share of all."""
    most = max(weights.values())
    total = sum(weight / most for weight in weights.values())
    return {name: weight / most / total for name, weight in weights.items()}


@dataclass(frozen=True)
class Mixture:
    """Which rows an epoch has.

    Attributes:
        rows: The numbers of the rows of each source; none is without.
        shares: Probability of each source; their sum is 1.
        epoch_rows: Rows that are drawn in an epoch.
        seed: Of the draws.
        together: So many rows, one behind the other, are of one source; a divisor of `epoch_rows`.
        within: For sources that are mixtures themselves, how their rows are drawn; these are counted from 0.
    """

    rows: Mapping[str, Sequence[int]]
    shares: Mapping[str, float]
    epoch_rows: int
    seed: int
    together: int = 1
    within: Mapping[str, "Mixture"] = field(default_factory=dict)
    _drawn: list[Tensor] = field(default_factory=list, repr=False, compare=False)

    def epoch(self, number: int) -> list[int]:
        """The rows of an epoch, counted from 0, in the order in which they were drawn."""
        sources = self._sources(number)
        before = sum((self._counts(epoch) for epoch in range(number)), torch.zeros(len(self.rows), dtype=torch.long))
        out = torch.empty(len(sources), dtype=torch.long)
        for source, (name, first) in enumerate(zip(self.rows, before.tolist(), strict=True)):
            here = sources == source
            out[here] = torch.tensor(self._from(source, name, first, int(here.sum())), dtype=torch.long)
        return out.tolist()

    def stretch(self, first: int, count: int) -> list[int]:
        """So many rows, where `first` have been drawn before, whichever epochs they are of."""
        epochs = range(first // self.epoch_rows, -(-(first + count) // self.epoch_rows))
        drawn = [row for number in epochs for row in self.epoch(number)]
        skipped = first - epochs.start * self.epoch_rows
        return drawn[skipped : skipped + count]

    def source_of(self) -> dict[int, int]:
        """The number of the source of each row."""
        return {row: number for number, rows in enumerate(self.rows.values()) for row in rows}

    def _from(self, source: int, name: str, first: int, count: int) -> list[int]:
        """So many rows of a source, where `first` have been drawn before: pass after pass through all of them."""
        rows = self.rows[name]
        if name in self.within:
            return [rows[i] for i in self.within[name].stretch(first, count)]
        passes = range(first // len(rows), -(-(first + count) // len(rows)))
        generators = (self._generator(_PASSES, source, number) for number in passes)
        order = [rows[i] for each in generators for i in torch.randperm(len(rows), generator=each).tolist()]
        skipped = first - passes.start * len(rows)
        return order[skipped : skipped + count]

    def _sources(self, number: int) -> Tensor:
        """The source of each row of an epoch."""
        shares = torch.tensor(list(self.shares.values()), dtype=torch.float64)
        generator = self._generator(_EPOCHS, 0, number)
        count = self.epoch_rows // self.together
        drawn = torch.multinomial(shares, count, replacement=True, generator=generator)
        return drawn.repeat_interleave(self.together)

    def _counts(self, number: int) -> Tensor:
        """How many rows of each source an epoch has."""
        while len(self._drawn) <= number:
            self._drawn.append(torch.bincount(self._sources(len(self._drawn)), minlength=len(self.rows)))
        return self._drawn[number]

    def _generator(self, *purpose: int) -> torch.Generator:
        """Random numbers for one purpose, independent of those for others."""
        state = np.random.SeedSequence([self.seed, *purpose]).generate_state(2)
        return torch.Generator().manual_seed(int(state[0]) << 31 ^ int(state[1]))
