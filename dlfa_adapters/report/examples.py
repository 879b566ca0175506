"""Which items a page shows: some that the model gets right and some that it does not, from all over the data."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.shown import Line
from dlfa_adapters.predict.predictions import Predicted
from dlfa_adapters.tasks import Task

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
    kind = kind_of_task(task)
    hit = kind.are_right(language.gold, language.predicted)
    right = [i for i, is_right in enumerate(hit) if is_right]
    wrong = [i for i, is_right in enumerate(hit) if not is_right]

    def spread(items: Sequence[int], wanted: int) -> list[int]:
        """So many of the items, at equal distances; those that are worth a look before the others."""
        telling = [i for i in items if kind.is_telling(language.inputs[i], language.gold[i], language.predicted[i])]
        pool = telling if len(telling) >= wanted else items
        return [pool[k * len(pool) // wanted] for k in range(wanted)] if len(pool) > wanted else list(pool)

    def example(i: int) -> Example:
        gold, predicted = language.gold[i], language.predicted[i]
        lines = kind.lines(language.inputs[i], gold, predicted, language.language)
        return Example(language.ids[i], hit[i], lines, *kind.labels_beside(gold, predicted))

    chosen = [*spread(wrong, WRONG), *spread(right, RIGHT)]
    return LanguageExamples(language.language, len(right), len(wrong), [example(i) for i in chosen])


def shown(value: object) -> object:
    """Text with control characters and lone surrogates escaped: HTML cannot hold them. Other values as they are."""
    if type(value) is not str:
        return value
    return "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in value
    )
