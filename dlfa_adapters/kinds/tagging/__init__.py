"""Tagging: a tag for each word, scored word by word or, where tags are of spans, by spans."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlfa_adapters.kinds.tagging.words import Tagging
from dlfa_adapters.tasks import Task

__all__ = ["Spans", "Tagging"]


class Spans(Tagging):
    """Tags of spans: what counts are spans, whose type, first and last word must be right."""

    metric, shows_support = "span_f1", True

    def has_nothing(self, labels: Iterable[str]) -> str | None:
        """Data without a span."""
        return "entities" if set(labels) <= {"O"} else None

    def check_fit(self, languages: Sequence[Any], task: Task, source: str) -> None:
        """Refuse what are no tags of spans."""
        from dlfa_adapters.kinds.tagging.spans import check_iob

        for items in languages:
            check_iob(items.gold)

    def metrics(self, task: Task) -> tuple[Any, ...]:
        """F1 of spans."""
        from dlfa_adapters.kinds.tagging.span_f1 import SpanF1

        return (SpanF1(),)

    def scorer(self) -> Any:
        """See `span_f1.SpanScorer`."""
        from dlfa_adapters.kinds.tagging.span_f1 import SpanScorer

        return SpanScorer

    def are_right(self, gold: Sequence[Any], predicted: Sequence[Any]) -> list[bool]:
        """Whether all spans of a sentence are right; an I- for a B- may leave them the same."""
        from dlfa_adapters.kinds.tagging.spans import lenient_spans

        rows = zip(gold, predicted, strict=True)
        return [set(lenient_spans(right)) == set(lenient_spans(said)) for right, said in rows]

    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> Any:
        """See `output.span_lines`."""
        from dlfa_adapters.kinds.tagging.output import span_lines

        return span_lines(input, gold, predicted, language)

    def mistakes(
        self, languages: Sequence[Any], pooled: Sequence[Any], details: Mapping[str, Any], labels: Sequence[str]
    ) -> Any:
        """F1 of each type."""
        from dlfa_adapters.kinds.tagging.output import type_table

        return type_table(pooled, details)
