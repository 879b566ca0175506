"""The part of a page that shows one evaluation: scores, mistakes, examples, and what is recorded of run and data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlfa_adapters.kinds import Kind, kind_of_task
from dlfa_adapters.kinds.shown import Confusion, ShownLine, TypeTable
from dlfa_adapters.predict import Predicted, Predictions
from dlfa_adapters.scores.report import MeanReport, Report
from dlfa_adapters.scores.show import notes
from dlfa_adapters.tasks import Task

Facts = list[tuple[str, str]]
"""What is recorded, as rows of a name and a value."""

RIGHT, WRONG = 3, 5
"""How many right and wrong examples of a language are shown."""
_RUN_PARTS = ("encoder", "head", "tuning", "seed", "windows", "training", "data", "metrics", "versions")


@dataclass(frozen=True)
class ShownSentence:
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
    lines: list[ShownLine]
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
    examples: list[ShownSentence]


@dataclass(frozen=True)
class EvaluationPart:
    """What the template of an evaluation needs.

    Attributes:
        anchor: What its links begin with; no two parts of a page have the same.
        title: Data and split.
        kind: The kind of task.
        report: The scores.
        main: Name of the main score.
        headline: The mean that stands for the whole: over the target languages, if there are any.
        notes: What a reader has to know beside the scores.
        pooled: Which languages are added up in `types` and `confusion`.
        types: F1 of each type; None where spans are not what is counted.
        confusion: Which label stands for which; None where spans are counted.
        examples: Some sentences of each language.
        about: What is known of data, run and versions.
    """

    anchor: str
    title: str
    kind: Kind
    report: Report
    main: str
    headline: MeanReport
    notes: list[str]
    pooled: str
    types: TypeTable | None
    confusion: Confusion | None
    examples: list[LanguageExamples]
    about: dict[str, Facts]


def evaluation_part(predictions: Predictions, report: Report, anchor: str) -> EvaluationPart:
    """Collect what is shown of an evaluation; for the anchor see `EvaluationPart`.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    task = predictions.task
    headline = report.table.means[0]
    of_headline = [x for x in predictions.languages if x.language in headline.languages]
    data = report.about.get("data", {})
    kind, details = kind_of_task(task), {row.language: row.details for row in report.table.languages}
    mistakes = kind.mistakes(predictions.languages, of_headline, details, task.labels)
    return EvaluationPart(
        anchor=anchor,
        title=f"{data['source']} ({data['split']})" if data else predictions.name,
        kind=kind,
        report=report,
        main=kind.metrics(task)[0].main_score,
        headline=headline,
        notes=notes(report),
        pooled=_pooled(headline, of_headline),
        types=mistakes if isinstance(mistakes, TypeTable) else None,
        confusion=mistakes if isinstance(mistakes, Confusion) else None,
        examples=[shown_sentences(language, task) for language in predictions.languages],
        about={name: facts(value) for name, value in report.about.items()},
    )


def _pooled(mean: MeanReport, languages: Sequence[Predicted]) -> str:
    number = len(languages)
    if number == 1:
        return languages[0].language
    return f"the {number} target languages" if mean.name == "targets" else f"all {number} languages"


def shown_sentences(language: Predicted, task: Task) -> LanguageExamples:
    """Examples of a language, evenly spread over its data; the same for the same predictions."""
    kind = kind_of_task(task)
    hit = kind.are_right(language.gold, language.predicted)
    right = [i for i, is_right in enumerate(hit) if is_right]
    wrong = [i for i, is_right in enumerate(hit) if not is_right]

    def spread(items: Sequence[int], wanted: int) -> list[int]:
        """So many of the items, at equal distances; those that are worth a look before the others."""
        telling = [i for i in items if kind.is_telling(language.inputs[i], language.gold[i], language.predicted[i])]
        pool = telling if len(telling) >= wanted else items
        return [pool[k * len(pool) // wanted] for k in range(wanted)] if len(pool) > wanted else list(pool)

    def example(i: int) -> ShownSentence:
        gold, predicted = language.gold[i], language.predicted[i]
        lines = kind.lines(language.inputs[i], gold, predicted, language.language)
        return ShownSentence(language.ids[i], hit[i], lines, *kind.labels_beside(gold, predicted))

    chosen = [*spread(wrong, WRONG), *spread(right, RIGHT)]
    return LanguageExamples(language.language, len(right), len(wrong), [example(i) for i in chosen])


def run_facts(config: Mapping[str, Any]) -> dict[str, Facts]:
    """The parts of `run.json` that a reader wants, checksums of files and label names left out."""
    known = [name for name in _RUN_PARTS if name in config]
    others = [name for name in config if name not in (*_RUN_PARTS, "format", "task", "labels", "files", "model")]
    return {name: facts(config[name]) for name in [*known, *others]}


def facts(value: Any) -> Facts:
    """A value of JSON as rows; the names of nested ones are joined with dots, and "" for a single value."""
    return list(_rows("", value))


def _rows(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _rows(f"{name}.{key}" if name else str(key), inner)
    else:
        yield name, plain_words(value)


def plain_words(value: Any) -> str:
    """A value in the words of a reader."""
    if value is None or value == {} or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(plain_words, value))
    return str(value)
