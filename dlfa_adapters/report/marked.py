"""One sentence or text, with what is gold and what the model said marked in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dlfa_adapters.report.text import blank_between, direction, join_words
from dlfa_adapters.tasks.spans import Span, lenient_spans

MOST_WORDS = 60
"""A longer sentence is cut, and the page says so."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a line: words outside any span, or a span.

    Attributes:
        text: The words as running text.
        blank: Whether a blank stands before it.
        kind: Type of the span, tag of the word, or label; "" for words outside.
        right: Whether gold and prediction agree on it.
        other: The gold tag of a word with a wrong one; else "".
    """

    text: str
    blank: bool = False
    kind: str = ""
    right: bool = True
    other: str = ""


@dataclass(frozen=True)
class Line:
    """A sentence or text of an example.

    Attributes:
        role: `gold`, `model`, or "" where both agree or are in one line.
        segments: Its stretches.
        direction: `ltr` or `rtl`.
        cut: How many words at the end are left out.
    """

    role: str
    segments: list[Segment]
    direction: str
    cut: int = 0


def span_lines(words: Sequence[str], gold: Sequence[str], predicted: Sequence[str], language: str) -> list[Line]:
    """One line where the spans agree, else a line with the gold ones and a line with the model's.

    Args:
        words: Words of a sentence.
        gold: Their gold IOB tags.
        predicted: The model's.
        language: Code of the language.
    """
    right, said = lenient_spans(gold), lenient_spans(predicted)
    if set(right) == set(said):
        return [_span_line("", words, right, right, language)]
    return [
        _span_line("gold", words, right, said, language),
        _span_line("model", words, said, right, language),
    ]


def tag_line(words: Sequence[str], gold: Sequence[str], predicted: Sequence[str], language: str) -> Line:
    """Words with the model's tags, and the gold tag where it is another one."""
    segments = [
        Segment(word, kind=said, right=said == right, other="" if said == right else right)
        for word, right, said in zip(words[:MOST_WORDS], gold, predicted, strict=False)
    ]
    return Line("", segments, direction(join_words(words, language)), max(0, len(words) - MOST_WORDS))


def text_line(text: str) -> Line:
    """A whole text, cut where it has more than so many words."""
    words = text.split()
    if len(words) <= MOST_WORDS:
        return Line("", [Segment(text)], direction(text))
    return Line("", [Segment(" ".join(words[:MOST_WORDS]))], direction(text), len(words) - MOST_WORDS)


def _span_line(role: str, words: Sequence[str], spans: list[Span], others: list[Span], language: str) -> Line:
    shown = words[:MOST_WORDS]
    segments, place = [], 0

    def add(stop: int, kind: str = "", right: bool = True) -> None:
        nonlocal place
        part = shown[place:stop]
        if part:
            blank = place > 0 and blank_between(shown[place - 1], part[0], language)
            segments.append(Segment(join_words(part, language), blank, kind, right))
        place = max(place, stop)

    for span in spans:
        kind, first, last = span
        add(first)
        add(last + 1, kind or "span", span in others)
    add(len(shown))
    return Line(role, segments, direction(join_words(words, language)), len(words) - len(shown))
