"""Scores of many heads at once: label ids of all words in, one number a head out."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Scorer = Callable[[Tensor], list[float]]
"""Predicted label ids, (heads, words), to a score for each head in percent; higher is better."""


def accuracy(gold: Sequence[Sequence[str]], labels: Sequence[str]) -> Scorer:
    """Share of words with the right tag, in percent; a gold tag that is no label is a miss.

    Args:
        gold: Gold tags of each sentence.
        labels: Label names by id.
    """
    label2id = {label: i for i, label in enumerate(labels)}
    ids = torch.tensor([label2id.get(tag, -1) for tags in gold for tag in tags])

    def score(predicted: Tensor) -> list[float]:
        if not ids.numel():
            return [0.0] * len(predicted)
        return [100 * share for share in (predicted == ids.to(predicted.device)).double().mean(1).tolist()]

    return score


def span_f1(gold: Sequence[Sequence[str]], labels: Sequence[str]) -> Scorer:
    """F1 of spans as conlleval counts them (lenient), in percent; 0 if there is no span.

    A gold type that is no label is a miss. The same number as `evaluation.metrics.SpanF1` has under `span_f1_lenient`,
    for all heads in a few tensor operations.

    Args:
        gold: Gold tags of each sentence, O, B-TYPE or I-TYPE.
        labels: Label names by id.
    """
    known = list(dict.fromkeys([*labels, *(tag for tags in gold for tag in tags)]))
    tag2id = {tag: i for i, tag in enumerate(known)}
    kinds = {tag[2:]: i for i, tag in enumerate(known)}
    kind_of = torch.tensor([kinds[tag[2:]] if tag != "O" else -1 for tag in known])
    begins = torch.tensor([tag.startswith("B-") for tag in known])
    ids = torch.tensor([[tag2id[tag] for tags in gold for tag in tags]], dtype=torch.long)
    first = torch.tensor([i == 0 for tags in gold for i in range(len(tags))], dtype=torch.bool)
    expected = _spans(ids, kind_of, begins, first)

    def score(predicted: Tensor) -> list[float]:
        device = predicted.device
        start, kind, end = _spans(predicted, kind_of.to(device), begins.to(device), first.to(device))
        gold_start, gold_kind, gold_end = (part.to(device) for part in expected)
        right = (start & gold_start & (kind == gold_kind) & (end == gold_end)).sum(1)
        both = start.sum(1) + gold_start.sum(1)
        return (200 * right.double() / both.clamp(min=1)).tolist()

    return score


def _spans(ids: Tensor, kind_of: Tensor, begins: Tensor, first: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where spans start, the type of each word, and where the span that starts at a word would end.

    A span starts at B-, and at an I- that follows nothing of its type in the sentence; it ends before the next word
    that does not go on with it.

    Args:
        ids: Tag ids, (heads, words).
        kind_of: Type of each tag, -1 for O.
        begins: Whether a tag is a B-.
        first: Whether a word is the first of its sentence, (words,).

    Returns:
        Three tensors (heads, words).
    """
    kind = kind_of[ids]
    before = torch.where(first, -1, kind.roll(1, 1))
    start = (kind >= 0) & (begins[ids] | (kind != before))
    stops = (kind < 0) | start | first
    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    at_stop = torch.where(stops, index, ids.shape[1])
    next_stop = at_stop.flip(1).cummin(1).values.flip(1).roll(-1, 1)  # at word i: the first stop behind it
    next_stop[:, -1:] = ids.shape[1]
    return start, kind, next_stop
