"""What logits and label ids are worth, on their device: the loss that is learned by, and scores of many heads at once.

The loss is a mean over items, or over the items of the whole accumulated batch.
Trainer cuts a batch into micro-batches (gradient accumulation, ranks) and says how many items the whole has,
`num_items_in_batch`, the labels that are not -100. A mean of means is the mean of the whole only where the parts have
equally many items, which sentences do not; sums divided by the same number add up exactly. A stock head of adapters
gives a mean over its micro-batch, which is turned into this micro-batch's share of the whole: mean * items here / items
in the whole.

Who computes a loss: the plain models call `mean_loss`; on `adapters` the stock head inside ours does, and
`share_of_batch` scales it in `heads.head`. A kind with a head of its own has its loss there (`kinds.parsing.biaffine`).
Many heads or encoders that learn in one tensor have the same cross-entropy for each of them, beside their training:
`learning.frozen.stacks` and `side_by_side`, `learning.ensemble`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dlfa_adapters.data.batching import IGNORED

SINGLE, MULTI, REGRESSION = "single_label_classification", "multi_label_classification", "regression"


def problem_type(num_labels: int, labels: Tensor) -> str:
    """What Transformers takes a classification for that does not say: by the number of labels and their dtype."""
    if num_labels == 1:
        return REGRESSION
    return MULTI if labels.is_floating_point() else SINGLE


def mean_loss(logits: Tensor, labels: Tensor, problem: str = SINGLE, num_items_in_batch: Any = None) -> Tensor:
    """The loss in float32.

    Args:
        logits: Scores, (..., labels).
        labels: Label ids (...), with -100 where none counts; for several labels an item 0 and 1, (..., labels); for
            regression numbers, of any shape with as many.
        problem: `single_label_classification`, `multi_label_classification` or `regression`.
        num_items_in_batch: The number of items in the whole batch, an int or a tensor with one element; without it
            those given here count. No items give a loss of 0.
    """
    scores = logits.float()
    if problem == SINGLE:
        flat = labels.reshape(-1)
        total = functional.cross_entropy(scores.reshape(flat.numel(), -1), flat, ignore_index=IGNORED, reduction="sum")
        items = (flat != IGNORED).sum()
    else:
        loss = functional.binary_cross_entropy_with_logits if problem == MULTI else functional.mse_loss
        total = loss(scores.reshape(-1), labels.reshape(-1).float(), reduction="sum")
        items = total.new_tensor(labels.numel())
    if num_items_in_batch is not None:
        items = torch.as_tensor(num_items_in_batch, device=total.device).reshape(-1)[0]
    return total / items.clamp(min=1)


def share_of_batch(loss: Tensor, items: Tensor, num_items_in_batch: Any) -> Tensor:
    """The part of the whole batch's mean loss that these items make up.

    Args:
        loss: The mean over `items`.
        items: Their number. With none the result is 0, where the mean itself is not a number.
        num_items_in_batch: The number in the whole batch, an int or a tensor with one element; None: the mean stays.
    """
    loss = torch.where(items > 0, loss, torch.zeros_like(loss))
    if num_items_in_batch is None:
        return loss
    total = torch.as_tensor(num_items_in_batch, device=loss.device).reshape(-1)[0]
    return loss * (items / total.clamp(min=1)).to(loss.dtype)


MakeScorer = Callable[[Sequence[Sequence[str]], Sequence[str]], "Scorer"]
"""Called with gold tags of each sentence (a text is a sentence of one word) and label names by id."""


class Scorer(ABC):
    """A score of many heads at once: label ids of all words in, counts of each sentence or one number a head out.

    Args:
        gold: Gold tags of each sentence.
    """

    def __init__(self, gold: Sequence[Sequence[str]]) -> None:
        lengths = torch.tensor([len(tags) for tags in gold], dtype=torch.long)
        self._sentence = torch.arange(len(gold)).repeat_interleave(lengths)
        self._sentences = len(gold)

    def counts(self, predicted: Tensor) -> Tensor:
        """What the score is a function of, of each sentence, as the metrics' `item_counts` has it.

        Args:
            predicted: Label ids, (heads, words).

        Returns:
            Whole numbers, (heads, sentences, counts).
        """
        by_word = self._by_word(predicted)
        out = by_word.new_zeros(len(predicted), self._sentences, by_word.shape[2])
        return out.index_add(1, self._sentence.to(predicted.device), by_word)

    @abstractmethod
    def _by_word(self, predicted: Tensor) -> Tensor:
        """What each word adds to the counts of its sentence, (heads, words, counts)."""

    @staticmethod
    @abstractmethod
    def score(counts: Tensor) -> Tensor:
        """The score in percent from sums of counts, (..., counts) to (...); NaN where it is not defined."""

    def __call__(self, predicted: Tensor) -> list[float]:
        """A score for each head in percent, 0 where it is not defined; higher is better."""
        return self.score(self.counts(predicted).sum(1)).nan_to_num(0.0).tolist()


class Accuracy(Scorer):
    """Share of words with the right tag; a gold tag that is no label is a miss."""

    def __init__(self, gold: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
        super().__init__(gold)
        label2id = {label: i for i, label in enumerate(labels)}
        self._ids = torch.tensor([label2id.get(tag, -1) for tags in gold for tag in tags], dtype=torch.long)

    def _by_word(self, predicted: Tensor) -> Tensor:
        right = (predicted == self._ids.to(predicted.device)).long()
        return torch.stack([right, torch.ones_like(right)], 2)

    @staticmethod
    def score(counts: Tensor) -> Tensor:
        """See `Scorer`."""
        return 100 * counts[..., 0].double() / counts[..., 1]
