"""What a page shows of predictions, as plain data: items with what is gold and predicted, and what is mixed up."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import regex

from dlfa_adapters.data.words import CHARACTER_LANGUAGES

_NO_BLANKS = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆〇\u3000-\u303f\uff00-\uffef]"
)
_CLOSING = frozenset(")]},.;:!?%…،؛؟।॥።")
_OPENING = frozenset("([{¡¿")
MOST_LABELS = 24
OTHERS = "(others)"
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
class ShownLine:
    """A sentence or text of an example.

    Attributes:
        role: `gold`, `model`, or "" where both agree or are in one line.
        segments: Its stretches.
        direction: `ltr` or `rtl`.
        cut: How many words at the end are left out.
        drawing: An SVG element that is shown instead of segments; "" for none.
    """

    role: str
    segments: list[Segment]
    direction: str
    cut: int = 0
    drawing: str = ""


@dataclass(frozen=True)
class TypeTable:
    """Spans by type.

    Attributes:
        types: The types, in alphabetical order.
        whole: Type -> precision, recall, F1, support, predicted, over the spans of all languages.
        languages: Language -> F1 of each type, None where a language has none of it.
    """

    types: list[str]
    whole: dict[str, dict[str, Any]]
    languages: dict[str, list[float | None]]


@dataclass(frozen=True)
class Confusion:
    """How often the model says each label where another, or the same, is gold.

    Attributes:
        labels: The labels; the rarest of many are put together.
        counts: Gold by predicted.
        shares: The counts, divided by the sum of their row.
        frequent: Language -> its most frequent confusions: gold, predicted, how often.
    """

    labels: list[str]
    counts: list[list[int]]
    shares: list[list[float]]
    frequent: dict[str, list[tuple[str, str, int]]]


def text_line(text: str) -> ShownLine:
    """A whole text, cut where it has more than so many words."""
    words = text.split()
    if len(words) <= MOST_WORDS:
        return ShownLine("", [Segment(text)], direction(text))
    return ShownLine("", [Segment(" ".join(words[:MOST_WORDS]))], direction(text), len(words) - MOST_WORDS)


def confusion(pairs: Mapping[str, Counter[tuple[str, str]]], whole: Sequence[str], labels: Sequence[str]) -> Confusion:
    """Labels of words or texts against the gold ones.

    Args:
        pairs: Of each language, how often which label is gold and which is predicted.
        whole: Languages whose counts are added up.
        labels: The labels of the model, in its order; labels that only gold has come behind them.
    """
    added = sum((pairs[language] for language in whole), Counter[tuple[str, str]]())
    often: Counter[str] = Counter()
    for pair, times in added.items():
        often.update({label: times for label in pair})
    named = [*(x for x in labels if often[x]), *sorted(set(often) - set(labels))]
    if len(named) > MOST_LABELS:
        frequent = {label for label, _ in often.most_common(MOST_LABELS - 1)}
        named = [*(label for label in named if label in frequent), OTHERS]
    place = {label: i for i, label in enumerate(named)}
    counts = [[0] * len(named) for _ in named]
    for (gold, predicted), times in added.items():
        counts[place.get(gold, len(named) - 1)][place.get(predicted, len(named) - 1)] += times
    shares = [[times / max(1, sum(row)) for times in row] for row in counts]
    return Confusion(named, counts, shares, {language: _most_frequent(each) for language, each in pairs.items()})


def _most_frequent(pairs: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    wrong = Counter({pair: times for pair, times in pairs.items() if pair[0] != pair[1]})
    return [(gold, predicted, times) for (gold, predicted), times in wrong.most_common(3)]


def blank_between(left: str, right: str, language: str) -> bool:
    """Whether a blank stands between two words; a guess, since corpora of words do not keep it.

    Args:
        left: A word.
        right: The next one.
        language: Code of the language: Chinese and Japanese have blanks between longer Latin words alone.
    """
    last, first = left[-1:], right[:1]
    if first in _CLOSING or last in _OPENING:
        return False
    no_blanks = [bool(_NO_BLANKS.match(char)) for char in (last, first)]
    if language.replace("_", "-").split("-")[0].lower() in CHARACTER_LANGUAGES:
        return len(left) > 1 and len(right) > 1 and not any(no_blanks)
    return not all(no_blanks)


def join_words(words: Sequence[str], language: str) -> str:
    """Words as running text."""
    text = words[0] if words else ""
    for left, right in pairwise(words):
        text += (" " if blank_between(left, right, language) else "") + right
    return text


def direction(text: str) -> str:
    """`rtl` where most letters are written from right to left, else `ltr`: the value of HTML's `dir`.

    HTML's own `auto` looks at the first letter alone: wrong for an Arabic sentence that begins with a Latin name.
    """
    kinds = [unicodedata.bidirectional(char) for char in text]
    return "rtl" if sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L") else "ltr"
