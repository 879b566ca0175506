"""Scores of many heads at once: label ids of all words in, counts of each sentence or one number a head out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

MakeScorer = Callable[[Sequence[Sequence[str]], Sequence[str]], "Scorer"]
"""Called with gold tags of each sentence (a text is a sentence of one word) and label names by id."""


class Scorer(ABC):
    """A score of predicted label ids.

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
    """Share of words with the right tag; a gold tag that is no label is a miss.

    Args:
        gold: Gold tags of each sentence.
        labels: Label names by id.
    """

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
