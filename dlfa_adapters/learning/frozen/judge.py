"""What many heads are worth on data: their predictions, their scores, and their loss."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.kinds.loss import MakeScorer
from dlfa_adapters.learning.frozen.batch import Batch
from dlfa_adapters.learning.frozen.examples import OnStates, TaggedStates
from dlfa_adapters.learning.frozen.stacks import HeadStack


class Judge(ABC):
    """Data that heads are scored on again and again.

    Attributes:
        gold: The label id of every word of the data, -100 for a tag that is no label; (words,).
    """

    gold: Tensor

    def __init__(self, data: TaggedStates) -> None:
        self.data = data

    @abstractmethod
    def counts(self, stacks: Sequence[HeadStack], losses: Tensor | None = None) -> Tensor:
        """What the score is a function of, of each sentence or text: whole numbers, (heads, items, counts).

        The mean loss of each head is added to `losses`, (heads,).
        """

    @abstractmethod
    def score(self, counts: Tensor) -> Tensor:
        """The score in percent from sums of counts, (..., counts) to (...); NaN where it is not defined."""

    def judge(self, stacks: Sequence[HeadStack]) -> tuple[list[float], list[float]]:
        """Score, of several languages the mean of theirs, 0 where it is not defined, and mean loss of each head."""
        losses = torch.zeros(sum(len(stack.members) for stack in stacks), device=self.data.states.device)
        counts = self.counts(stacks, losses)
        parts = [counts[:, torch.tensor(items)] for items in self.data.items_by_language().values()]
        scores = torch.stack([self.score(part.sum(1)).nan_to_num(0.0) for part in parts])
        return scores.mean(0).tolist(), losses.tolist()

    @torch.no_grad()
    def logits(
        self, stacks: Sequence[HeadStack], losses: Tensor | None = None
    ) -> Iterator[tuple[Batch, HeadStack, Any]]:
        """What every stack gives for every batch; losses as in `counts`."""
        device = self.data.states.device
        learned = torch.zeros((), device=device)
        for indices in token_budget_batches(self.data.states.lengths(), tokens_at_once(device)):
            batch = self.data.batch(indices)
            for number, stack in enumerate(stacks):
                logits = stack(batch, training=False)
                if losses is not None:
                    of_heads, count = stack.losses(logits, batch, self.gold)
                    losses[torch.tensor(stack.members, device=device)] += of_heads
                    learned += count if number == 0 else 0
                yield batch, stack, logits
        if losses is not None:
            losses /= learned.clamp(min=1)


def tokens_at_once(device: torch.device) -> int:
    """Tokens in a batch of a prediction."""
    return 16384 if device.type == "cuda" else 2048


class WordJudge(Judge):
    """Words or texts with a label each, whose scores are counted where the states are.

    Without a scorer, see `Kind.scorer`, there are predictions alone.
    """

    def __init__(self, data: TaggedStates, labels: Sequence[str], scorer: MakeScorer | None) -> None:
        super().__init__(data)
        self.gold = data.label_ids({label: i for i, label in enumerate(labels)})
        self._scorer = scorer and scorer(data.tags, labels)

    def counts(self, stacks: Sequence[HeadStack], losses: Tensor | None = None) -> Tensor:
        """See `Judge`."""
        assert self._scorer is not None
        return self._scorer.counts(self.predict(stacks, losses))

    def score(self, counts: Tensor) -> Tensor:
        """See `Judge`."""
        assert self._scorer is not None
        return self._scorer.score(counts)

    def predict(self, stacks: Sequence[HeadStack], losses: Tensor | None = None) -> Tensor:
        """Label ids for each head and each word of all sentences, in order: (heads, words)."""
        heads = 1 + max(member for stack in stacks for member in stack.members)
        predicted = torch.full((heads, self.data.starts[-1]), -1, device=self.data.states.device)
        for batch, stack, logits in self.logits(stacks, losses):
            rows = torch.tensor(stack.members, device=predicted.device)
            predicted[rows.unsqueeze(1), batch.places] = logits.argmax(1)
        return predicted


class OwnJudge(Judge):
    """Data of a kind with a head of its own: predictions are made of what the heads give, and scored by its metric."""

    def __init__(self, data: OnStates) -> None:
        super().__init__(data)
        self.examples, self.gold = data.examples, torch.empty(0)
        self._metric = data.kind.metrics(data.examples.task)[0]

    def counts(self, stacks: Sequence[HeadStack], losses: Tensor | None = None) -> Tensor:
        """See `Judge`."""
        encoded, best = self.examples.encoded, {stack.members[0]: [] for stack in stacks}  # type: ignore[var-annotated]
        for batch, stack, scores in self.logits(stacks, losses):
            best[stack.members[0]].append((batch.rows, encoded.best(batch.rows, scores).cpu()))
        predictions = [encoded.collect(best[member]) for member in sorted(best)]
        counts = [self._metric.item_counts(predicted, self.examples.gold) for predicted in predictions]
        return torch.stack([torch.from_numpy(each) for each in counts])

    def score(self, counts: Tensor) -> Tensor:
        """See `Judge`."""
        return 100 * torch.from_numpy(self._metric.score_of_counts(counts.double().numpy()))


def make_judge(data: TaggedStates, labels: Sequence[str], scorer: MakeScorer | None) -> Judge:
    """What scores heads on data: by labels, or without a scorer as the kind of the data scores its own heads."""
    return OwnJudge(data) if scorer is None and isinstance(data, OnStates) else WordJudge(data, labels, scorer)
