"""Which sentences a page shows, and how: gold and prediction marked in running text, in the direction of the script."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from dlfa_adapters.data.words import CHARACTER_LANGUAGES
from dlfa_adapters.predict.predictions import Predicted
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.spans import Span, lenient_spans

MOST_WORDS = 60
"""A longer sentence is cut, and the page says so."""
_NO_BLANKS = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆〇\u3000-\u303f\uff00-\uffef]"
)
_CLOSING = frozenset(")]},.;:!?%…،؛؟।॥።")
_OPENING = frozenset("([{¡¿")
RIGHT, WRONG = 3, 5
"""How many right and wrong examples of a language are shown."""


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


@dataclass(frozen=True)
class Example:
    """One sentence, text or pair.

    Attributes:
        name: Its id in the data.
        right: Whether the model has all of it right.
        lines: What is shown.
        gold: The gold label of a text; "" for sentences, whose lines have theirs.
        predicted: The model's label; likewise.
    """

    name: str
    right: bool
    lines: list[Line]
    gold: str = ""
    predicted: str = ""


@dataclass(frozen=True)
class LanguageExamples:
    """The examples of one language.

    Attributes:
        language: Its code.
        right: How many items are wholly right.
        wrong: How many are not.
        examples: Some of both, the wrong ones first.
    """

    language: str
    right: int
    wrong: int
    examples: list[Example]


def examples_of(language: Predicted, task: Task) -> LanguageExamples:
    """Examples of a language, evenly spread over its data; the same for the same predictions.

    Args:
        language: Predictions.
        task: What they are for.
    """
    said, gold = language.predicted, language.gold
    if task.metric == "span_f1":  # an I- for a B- may leave the spans the same
        said, gold = ([set(lenient_spans(tags)) for tags in rows] for rows in (said, gold))
    hit = [a == b for a, b in zip(said, gold, strict=True)]
    right = [i for i, is_right in enumerate(hit) if is_right]
    wrong = [i for i, is_right in enumerate(hit) if not is_right]
    chosen = [*_spread(language, wrong, WRONG), *_spread(language, right, RIGHT)]
    return LanguageExamples(
        language.language, len(right), len(wrong), [_example(language, task, i, hit[i]) for i in chosen]
    )


def _spread(language: Predicted, items: Sequence[int], wanted: int) -> list[int]:
    """So many of the items, at equal distances; those that are worth a look before the others."""
    telling = [i for i in items if _is_telling(language, i)]
    pool = telling if len(telling) >= wanted else items
    return [pool[k * len(pool) // wanted] for k in range(wanted)] if len(pool) > wanted else list(pool)


def _is_telling(language: Predicted, i: int) -> bool:
    """Whether a sentence is short enough to be shown whole, and has something besides `O` in it."""
    if language.kind != "tagging":
        return True
    return len(language.inputs[i]) <= MOST_WORDS and set(language.gold[i]) | set(language.predicted[i]) != {"O"}


def _lines(language: Predicted, task: Task, i: int) -> list[Line]:
    words, gold, predicted = language.inputs[i], language.gold[i], language.predicted[i]
    if task.metric == "span_f1":
        return span_lines(words, gold, predicted, language.language)
    return [tag_line(words, gold, predicted, language.language)]


def _example(language: Predicted, task: Task, i: int, right: bool) -> Example:
    if language.kind == "tagging":
        return Example(language.ids[i], right, _lines(language, task, i))
    lines = [text_line(text) for text in language.inputs[i] if text is not None]
    return Example(language.ids[i], right, lines, language.gold[i], language.predicted[i])


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


def shown(value: object) -> object:
    """Text with control characters and lone surrogates escaped: HTML cannot hold them. Other values as they are."""
    if type(value) is not str:
        return value
    return "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in value
    )
