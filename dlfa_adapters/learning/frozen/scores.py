"""Scores of many heads at once: label ids of all words in, counts of each sentence or one number a head out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dlfa_adapters.data.readers.iob import split_tag
from dlfa_adapters.tasks import Task

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


class SpanF1(Scorer):
    """F1 of spans as conlleval counts them (lenient); a gold type that is no label is a miss.

    Args:
        gold: Gold tags of each sentence: O, B-TYPE or I-TYPE; any other is a span of one word of a type of its own.
        labels: Label names by id.
    """

    def __init__(self, gold: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
        super().__init__(gold)
        known = list(dict.fromkeys([*labels, *(tag for tags in gold for tag in tags)]))
        tag2id = {tag: i for i, tag in enumerate(known)}
        readings = [(tag[:1] in ("O", "B", "I") and split_tag(tag)) or ("B", repr(tag)) for tag in known]
        kinds = {kind: i for i, (_, kind) in enumerate(readings)}
        self._kind_of = torch.tensor([kinds[kind] if prefix != "O" else -1 for prefix, kind in readings])
        self._begins = torch.tensor([prefix != "I" for prefix, _ in readings])
        self._first = torch.tensor([i == 0 for tags in gold for i in range(len(tags))], dtype=torch.bool)
        self._gold = self._spans(torch.tensor([[tag2id[tag] for tags in gold for tag in tags]], dtype=torch.long))

    def _by_word(self, predicted: Tensor) -> Tensor:
        start, kind, end = self._spans(predicted)
        gold_start, gold_kind, gold_end = (part.to(predicted.device) for part in self._gold)
        right = start & gold_start & (kind == gold_kind) & (end == gold_end)
        return torch.stack([right, start, gold_start.expand_as(start)], 2).long()

    @staticmethod
    def score(counts: Tensor) -> Tensor:
        """See `Scorer`."""
        return 200 * counts[..., 0].double() / (counts[..., 1] + counts[..., 2])

    def _spans(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where spans start, the type of each word, and where the span that starts at a word would end.

        A span starts at B-, and at an I- that follows nothing of its type in the sentence; it ends before the next word
        that does not go on with it.

        Args:
            ids: Tag ids, (heads, words).

        Returns:
            Three tensors (heads, words).
        """
        kind_of, begins, first = (t.to(ids.device) for t in (self._kind_of, self._begins, self._first))
        kind = kind_of[ids]
        before = torch.where(first, -1, kind.roll(1, 1))
        start = (kind >= 0) & (begins[ids] | (kind != before))
        stops = (kind < 0) | start | first
        index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        at_stop = torch.where(stops, index, ids.shape[1])
        next_stop = at_stop.flip(1).cummin(1).values.flip(1).roll(-1, 1)  # at word i: the first stop behind it
        next_stop[:, -1:] = ids.shape[1]
        return start, kind, next_stop


accuracy, span_f1 = Accuracy, SpanF1


def scorer_for(task: Task) -> MakeScorer:
    """The main score of a task."""
    return span_f1 if task.metric == "span_f1" else accuracy
