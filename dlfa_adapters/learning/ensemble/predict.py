"""What M models say about the same data, in one forward pass for all of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.pooling import IGNORED, pool_batch
from dlfa_adapters.learning.dataset import Examples, TaggedExamples
from dlfa_adapters.learning.ensemble.batches import Batch, DeviceRows
from dlfa_adapters.learning.frozen.scores import scorer_for

_MAX_TOKENS = 65536
"""Pieces that all members together read at once: 1.3 GB of states for 12 layers of width 384 in float32."""


class Questions:
    """Data that members are asked about again and again.

    Args:
        examples: Rows with their gold labels.
        padding: What batches are padded with.
        device: Where the rows are kept.

    Attributes:
        rows: The rows on the device.
    """

    def __init__(self, examples: Examples, padding: int, device: torch.device) -> None:
        self.rows, self._examples = DeviceRows(examples.rows, padding, device), examples
        self._starts = [0, *accumulate(map(len, examples.tags))]
        self._scorer = scorer_for(examples.task)(examples.tags, examples.task.labels)
        label2id = {label: i for i, label in enumerate(examples.task.labels)}
        gold = [label2id.get(tag, IGNORED) for tags in examples.tags for tag in tags]
        self._gold = torch.tensor(gold, dtype=torch.long, device=device)

    @property
    def count(self) -> int:
        """Words, or texts."""
        return self._starts[-1]

    @torch.no_grad()
    def ask(
        self, members: int, logits_of: Callable[[Batch], Tensor], precision: str, losses: Tensor | None = None
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
        found = torch.zeros(members, self.count, dtype=torch.long, device=device)
        order = token_budget_batches(self.rows.lengths, max(1, _MAX_TOKENS // members))
        for chosen, batch in zip(order, self.rows.batches(order), strict=True):
            with in_precision(device, precision):
                logits = logits_of(batch)
            if isinstance(self._examples, TaggedExamples):
                by_piece = logits.view(members, *batch.ids.shape, -1).permute(1, 2, 0, 3).flatten(2)
                pieces = [self._examples.windows[i].pieces for i in chosen]
                by_word = pool_batch(by_piece, pieces, self._examples.pooling)  # type: ignore[arg-type]
                logits = by_word.view(len(by_word), members, -1).transpose(0, 1)
            places = self._places(chosen).to(device)
            found[:, places] = logits.argmax(-1)
            if losses is not None:
                gold = self._gold[places].expand(members, -1)
                each = cross_entropy(logits.float().transpose(1, 2), gold, ignore_index=IGNORED, reduction="none")
                losses += each.sum(1) / (self._gold != IGNORED).sum().clamp(min=1)
        return found

    def score(self, ids: Tensor) -> tuple[Tensor, list[float]]:
        """What the answers are worth.

        Args:
            ids: From `ask`, (members, words).

        Returns:
            Counts by sentence or text, (members, items, counts) on the CPU, and the main score of each in percent.
        """
        counts = self._scorer.counts(ids)
        scores = self._scorer.score(counts.sum(1)).nan_to_num(0.0).tolist()
        return counts.to("cpu", torch.int32), [round(score, 4) for score in scores]

    def _places(self, rows: list[int]) -> Tensor:
        """Where the words of windows, or texts, stand among all."""
        windows = [self._examples.windows[i] for i in rows]
        places = [self._starts[window.sentence] + word for window in windows for word in window.words]
        return torch.tensor(places, dtype=torch.long)


def in_precision(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """The context in which a model computes: bfloat16 where it is safe, or float32 throughout."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
