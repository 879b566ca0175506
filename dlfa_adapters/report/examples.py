"""Which sentences a page shows: some that the model gets right and some that it does not, from all over the data."""

from collections.abc import Sequence
from dataclasses import dataclass

from dlfa_adapters.predict.predictions import Predicted
from dlfa_adapters.report.marked import MOST_WORDS, Line, span_lines, tag_line, text_line
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.spans import lenient_spans

RIGHT, WRONG = 3, 5
"""How many right and wrong examples of a language are shown."""


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
