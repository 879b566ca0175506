"""Rows of training data on the device, cut into batches without the host waiting for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, chain
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.kinds.examples import Examples


class DeviceBatch(NamedTuple):
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
        rows: From `kinds.examples.Examples`.
        padding: What `ids` are padded with.
        device: Where to.
        mixture: Which rows an epoch has; None: each once.

    Attributes:
        lengths: Pieces of each row.
    """

    def __init__(self, rows: Sequence[Row], padding: int, device: torch.device, mixture: Mixture | None = None) -> None:
        self.lengths, self.padding, self.device = [len(row.input_ids) for row in rows], padding, device
        self.mixture = mixture
        self._sizes = torch.tensor(self.lengths, device=device)
        self._starts = self._sizes.cumsum(0) - self._sizes
        self._ids = torch.tensor(list(chain.from_iterable(row.input_ids for row in rows)), device=device)
        self._types = None
        if all(row.token_type_ids is not None for row in rows):
            self._types = torch.tensor([i for row in rows for i in row.token_type_ids or ()], device=device)
        labels = [row.labels for row in rows]
        self._are_texts = bool(rows) and isinstance(labels[0], int)
        flat = labels if self._are_texts else list(chain.from_iterable(labels))
        self._labels = torch.tensor(flat, dtype=torch.long, device=device)

    def batches(self, order: Sequence[Sequence[int]]) -> Iterator[DeviceBatch]:
        """Batches of the rows in `order`, padded on the right to their longest."""
        flat = torch.tensor(list(chain.from_iterable(order)), dtype=torch.long).to(self.device)
        for rows, chosen in zip(flat.split([len(batch) for batch in order]), order, strict=True):
            yield self._batch(rows, [self.lengths[i] for i in chosen])

    def _batch(self, rows: Tensor, lengths: list[int]) -> DeviceBatch:
        seq = max(lengths)
        column = torch.arange(seq, device=self.device)
        mask = column < self._sizes[rows, None]
        at = torch.where(mask, self._starts[rows, None] + column, 0)

        def padded(flat: Tensor, filling: int) -> Tensor:
            return torch.where(mask, flat[at], filling)

        types = None if self._types is None else padded(self._types, 0)
        if self._are_texts:  # a text speaks through its first piece
            positions, gold = torch.arange(len(lengths), device=self.device) * seq, self._labels[rows]
        else:
            positions = torch.arange(len(lengths) * seq, device=self.device)
            gold = padded(self._labels, IGNORED).flatten()
        return DeviceBatch(padded(self._ids, self.padding), mask.long(), types, positions, gold, min(lengths) < seq)


_MAX_TOKENS = 65536
"""Pieces that all members together read at once: 1.3 GB of states for 12 layers of width 384 in float32."""


class Questions:
    """Data that members are evaluated on again and again: rows with their gold labels, on a device."""

    def __init__(self, examples: Examples, padding: int, device: torch.device) -> None:
        self.rows, self._examples = DeviceRows(examples.rows, padding, device), examples
        self._starts = [0, *accumulate(map(len, examples.tags))]
        self._scorer = kind_of_task(examples.task).scorer()(examples.tags, examples.task.labels)
        label2id = {label: i for i, label in enumerate(examples.task.labels)}
        gold = [label2id.get(tag, IGNORED) for tags in examples.tags for tag in tags]
        self._gold = torch.tensor(gold, dtype=torch.long, device=device)

    @property
    def count(self) -> int:
        """Words, or texts."""
        return self._starts[-1]

    @torch.no_grad()
    def ask(
        self, members: int, logits_of: Callable[[DeviceBatch], Tensor], precision: str, losses: Tensor | None = None
    ) -> Tensor:
        """The label id that each model gives to each word or text, in the order of the data.

        Args:
            members: How many models there are.
            logits_of: From a batch to logits, (members, items, labels).
            precision: `fp32` or `bf16`, see `in_precision`.
            losses: What the mean loss of each member over the words that have a label is added to, (members,).

        Returns:
            (members, words).
        """
        device = self.rows.device
        predicted = torch.zeros(members, self.count, dtype=torch.long, device=device)
        order = token_budget_batches(self.rows.lengths, max(1, _MAX_TOKENS // members))
        for chosen, batch in zip(order, self.rows.batches(order), strict=True):
            with in_precision(device, precision):
                logits = logits_of(batch)
            if self._examples.encoded.by_piece:
                by_piece = logits.view(members, *batch.ids.shape, -1).permute(1, 2, 0, 3).flatten(2)
                by_word = self._examples.encoded.by_unit(chosen, by_piece)
                logits = by_word.view(len(by_word), members, -1).transpose(0, 1)
            places = self._places(chosen).to(device)
            predicted[:, places] = logits.argmax(-1)
            if losses is not None:
                gold = self._gold[places].expand(members, -1)
                each = cross_entropy(logits.float().transpose(1, 2), gold, ignore_index=IGNORED, reduction="none")
                losses += each.sum(1) / (self._gold != IGNORED).sum().clamp(min=1)
        return predicted

    def score(self, ids: Tensor) -> tuple[Tensor, list[float]]:
        """What answers of `ask` are worth, (members, words).

        Returns:
            Counts by sentence or text, (members, items, counts) on the CPU, and the main score of each in percent, of
            several languages the mean of theirs.
        """
        counts = self._scorer.counts(ids)
        parts = [counts[:, torch.tensor(items)] for items in self._examples.items_by_language().values()]
        scores = torch.stack([self._scorer.score(part.sum(1)).nan_to_num(0.0) for part in parts]).mean(0)
        return counts.to("cpu", torch.int32), [round(score, 4) for score in scores.tolist()]

    def _places(self, rows: list[int]) -> Tensor:
        """Where the words of windows, or texts, stand among all."""
        windows = [self._examples.windows[i] for i in rows]
        places = [self._starts[window.sentence] + word for window in windows for word in window.words]
        return torch.tensor(places, dtype=torch.long)


def in_precision(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """The context in which a model computes: bfloat16 where it is safe, or float32 throughout."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
