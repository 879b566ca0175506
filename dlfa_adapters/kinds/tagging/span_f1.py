"""Span F1 of named entities, lenient and strict side by side."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.data.readers.iob import split_tag
from dlfa_adapters.kinds.loss import Scorer
from dlfa_adapters.kinds.metric import (
    TAGS_FEATURES,
    CountedScore,
    Metric,
    as_counts,
    check_lengths,
    f1,
    mean_f1,
    prf,
    table,
    warn_unknown,
)
from dlfa_adapters.kinds.tagging import Scheme, Span, Tags, check_iob, lenient_spans, strict_spans, to_iob2


class SpanF1(Metric):
    """F1 of spans: a span is right if its type, first and last word are.

    `span_f1_lenient` counts as conlleval, seqeval by default, and XTREME do: an I- that follows nothing of its type
    begins a span. `span_f1_strict` takes IOB2 at its word: only B- begins a span. The two agree where all tags are well
    formed, which predictions need not be.
    """

    main_score = "span_f1_lenient"
    title = "span F1 (lenient)"
    counts_features = TAGS_FEATURES
    score_of_counts = staticmethod(f1)
    citation_text = (
        "Tjong Kim Sang and Buchholz 2000, Introduction to the CoNLL-2000 shared task: chunking (conlleval); "
        "Nakayama 2018, seqeval"
    )

    def _compute(
        self, predictions: Tags, references: Tags, *, labels: Sequence[str] | None = None, scheme: Scheme = "IOB2"
    ) -> dict[str, Any]:
        """Scores tags of a scheme; gold ones that are none of the labels of the model, count as missed and are named.

        Returns:
            `span_f1_lenient`, `span_f1_strict` (None where there is no span at all), `support` (gold spans, lenient),
            `scheme`, `unknown_gold_labels` with how often each occurs, and under `lenient` and `strict` the precision,
            recall, F1, support, number predicted, `macro_f1` and the same `per_type`.
        """
        check_lengths(predictions, references)
        check_iob(predictions)
        check_iob(references)
        unknown = warn_unknown((tag for tags in references for tag in tags), labels)
        predicted = [to_iob2(tags, scheme) for tags in predictions]
        gold = [to_iob2(tags, scheme) for tags in references]
        lenient = _scores(predicted, gold, lenient_spans)
        strict = _scores(predicted, gold, strict_spans)
        return {
            "span_f1_lenient": lenient["f1"],
            "span_f1_strict": strict["f1"],
            "support": lenient["support"],
            "scheme": scheme,
            "unknown_gold_labels": unknown,
            "lenient": lenient,
            "strict": strict,
        }

    def item_counts(self, predictions: Tags, references: Tags) -> np.ndarray:
        """Right, predicted and gold spans (lenient, IOB2) of each sentence, `(sentences, 3)`."""
        check_lengths(predictions, references)
        check_iob(predictions)
        check_iob(references)
        return span_counts(predictions, references, lenient_spans)

    def counted_scores(self) -> tuple[CountedScore, ...]:
        """Lenient and strict F1."""
        strict = partial(span_counts, spans=strict_spans)
        return (*super().counted_scores(), CountedScore("span_f1_strict", "span F1 (strict)", strict, f1))


def span_counts(predictions: Tags, references: Tags, spans: Callable[[Sequence[str]], list[Span]]) -> np.ndarray:
    """Right, predicted and gold spans of each sentence, as `spans` finds them, `(sentences, 3)`."""
    rows = []
    for tags, gold_tags in zip(predictions, references, strict=True):
        predicted, gold = set(spans(tags)), set(spans(gold_tags))
        rows.append((len(predicted & gold), len(predicted), len(gold)))
    return as_counts(rows, 3)


def _scores(predictions: Tags, references: Tags, spans: Callable[[Sequence[str]], list[Span]]) -> dict[str, Any]:
    """Micro scores, and a row for each type."""
    names: tuple[list[str], list[str], list[str]] = ([], [], [])
    for tags, gold_tags in zip(predictions, references, strict=True):
        predicted, gold = set(spans(tags)), set(spans(gold_tags))
        for group, types in zip((predicted & gold, predicted, gold), names, strict=True):
            types.extend(span_type for span_type, _, _ in group)
    per_type = table(*names)
    correct, predicted_total, support = map(len, names)
    return {**prf(correct, predicted_total, support), "macro_f1": mean_f1(per_type), "per_type": per_type}


class SpanScorer(Scorer):
    """The lenient F1 of many heads at once; a gold type that is no label is a miss.

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
