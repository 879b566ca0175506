"""Tagging: a tag for each word, scored word by word or, where tags are of spans, by spans, as seqeval finds them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds.tagging.kind import Tagging
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.span_tags import read_tag

__all__ = ["Spans", "Tagging"]


class Spans(Tagging):
    """Tags of spans: what counts are spans, whose type, first and last word must be right."""

    metric, shows_support = "span_f1", True
    shown_as = "Where gold and model differ, both are shown, and ✗ is at each span that the other does not have."

    def has_nothing(self, labels: Iterable[str]) -> str | None:
        """Data without a span."""
        return "entities" if set(labels) <= {"O"} else None

    def check_fit(self, languages: Sequence[Any], task: Task, source: str) -> None:
        """Refuse what are no tags of spans."""
        for items in languages:
            try:
                check_iob(items.gold)
            except DataError as error:
                told = str(error).partition("; ")[0]
                raise DataError(f"{source}: {told}. Are they data for another task than {task.name}?") from None

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
        rows = zip(gold, predicted, strict=True)
        return [set(lenient_spans(right)) == set(lenient_spans(guess)) for right, guess in rows]

    def lines(self, input: Any, gold: Any, predicted: Any, language: str) -> Any:
        """See `tagger.span_lines`."""
        from dlfa_adapters.kinds.tagging.tagger import span_lines

        return span_lines(input, gold, predicted, language)

    def mistakes(
        self, languages: Sequence[Any], pooled: Sequence[Any], details: Mapping[str, Any], labels: Sequence[str]
    ) -> Any:
        """F1 of each type, lenient, as the main score counts spans."""
        from dlfa_adapters.kinds.shown import TypeTable
        from dlfa_adapters.kinds.tagging.span_f1 import SpanF1

        whole = SpanF1().compute(
            predictions=[tags for language in pooled for tags in language.predicted],
            references=[tags for language in pooled for tags in language.gold],
        )
        found = {language: its["span_f1_lenient"]["lenient"]["per_type"] for language, its in details.items()}
        types = sorted({name for per_type in found.values() for name in per_type})
        by_language = {
            language: [per_type[name]["f1"] if name in per_type else None for name in types]
            for language, per_type in found.items()
        }
        return TypeTable(types, whole["lenient"]["per_type"], by_language)


Tags = Sequence[Sequence[str]]
"""Of each sentence."""

Span = tuple[str, int, int]
"""Type, first word, last word."""

Scheme = Literal["IOB1", "IOB2"]

_IOB = re.compile(r"O|[BI](-.*)?", re.DOTALL)


def check_iob(sentences: Iterable[Sequence[str]]) -> None:
    """Checks that tags are O, B-TYPE or I-TYPE, but for a few slips.

    Raises:
        DataError: If more than a fifth of the words have a tag that says nothing of a span in any notation, or more
            entities are written in another one.
    """
    counts = Counter(tag for tags in sentences for tag in tags)
    wrong = {tag: read_tag(tag) for tag in counts if not _IOB.fullmatch(tag)}
    unread = sum(counts[tag] for tag, reading in wrong.items() if reading is None)
    entities = sum(n for tag, n in counts.items() if tag != "O" and tag not in wrong)
    otherwise = sum(counts[tag] for tag, reading in wrong.items() if reading is not None and reading.prefix != "O")
    if 5 * unread > counts.total() or otherwise > entities or (wrong and len(wrong) == len(counts)):
        raise DataError(
            f"expected IOB tags (O, B-TYPE, I-TYPE) for span F1, got {', '.join(map(repr, sorted(wrong)[:5]))}; "
            "score tags of single words with token_accuracy."
        )


def lenient_spans(tags: Sequence[str]) -> list[Span]:
    """Spans as conlleval counts them: an I- that follows nothing of its type begins a span.

    A tag that is none of a span is a span of one word that has the whole tag, in quotes, for its type: a prediction
    misses it unless it says the same.
    """
    return list(_spans_of(tuple(tags)))


@lru_cache(maxsize=2**16)
def _spans_of(tags: tuple[str, ...]) -> tuple[Span, ...]:
    """Kept, because the scores, their details and a page ask for the same sentences again, and it takes its time."""
    from seqeval.metrics.sequence_labeling import get_entities

    slips = [(repr(tag), i, i) for i, tag in enumerate(tags) if not _IOB.fullmatch(tag)]
    if not slips:
        return tuple(get_entities(list(tags)))
    spans = get_entities([tag if _IOB.fullmatch(tag) else "O" for tag in tags])
    return tuple(sorted([*spans, *slips], key=lambda span: span[1]))


def strict_spans(tags: Sequence[str]) -> list[Span]:
    """Spans of IOB2: each begins with B-; an I- that follows nothing of its type belongs to none.

    These are the lenient spans that do not begin with I-, since both end at the same places. Equal to seqeval's
    `mode="strict", scheme=IOB2`, which takes far longer.
    """
    return [span for span in lenient_spans(tags) if not tags[span[1]].startswith("I-") and tags[span[1]] != "I"]


def to_iob2(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """Tags in IOB2; a new list, the given one is left alone.

    Args:
        tags: Tags of a sentence.
        scheme: `IOB2`, or `IOB1` (B- only between two adjacent spans of one type; CoNLL 2003).

    Returns:
        The same spans in IOB2; IOB2 tags as they are, ill-formed ones too.

    Raises:
        ConfigError: If `scheme` is neither.
    """
    if scheme == "IOB2":
        return list(tags)
    if scheme != "IOB1":
        raise ConfigError(f"expected scheme IOB2 or IOB1, got {scheme!r}; type scheme='IOB2'.")
    converted = ["O"] * len(tags)
    for _, first, last in lenient_spans(tags):
        if not _IOB.fullmatch(tags[first]):
            converted[first] = tags[first]
            continue
        converted[first] = "B" + tags[first][1:]
        converted[first + 1 : last + 1] = ["I" + tag[1:] for tag in tags[first + 1 : last + 1]]
    return converted
