"""The part of a page that shows one evaluation: scores, mistakes, examples, and where the data came from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlfa_adapters.predict.predictions import Predicted, Predictions
from dlfa_adapters.report.examples import LanguageExamples, examples_of
from dlfa_adapters.report.facts import Facts, facts
from dlfa_adapters.scores.metrics import SpanF1, metrics_for
from dlfa_adapters.scores.notes import notes
from dlfa_adapters.scores.report import LanguageReport, MeanReport, Report

MOST_LABELS = 24
OTHERS = "(others)"


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


@dataclass(frozen=True)
class EvaluationPart:
    """What the template of an evaluation needs.

    Attributes:
        anchor: What its links begin with; no two parts of a page have the same.
        title: Data and split.
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
    """Collect what is shown of an evaluation.

    Args:
        predictions: What the model said.
        report: The scores of that.
        anchor: See `EvaluationPart`.

    Raises:
        ConfigError: If the task's metric does not fit its kind.
    """
    task = predictions.task
    headline = report.table.means[0]
    of_headline = [x for x in predictions.languages if x.language in headline.languages]
    data = report.about.get("data", {})
    spans = task.metric == "span_f1"
    return EvaluationPart(
        anchor=anchor,
        title=f"{data['source']} ({data['split']})" if data else predictions.name,
        report=report,
        main=metrics_for(task)[0].main_score,
        headline=headline,
        notes=notes(report),
        pooled=_pooled(headline, of_headline),
        types=type_table(of_headline, report.table.languages) if spans else None,
        confusion=None if spans else confusion(predictions.languages, of_headline, task.labels),
        examples=[examples_of(language, task) for language in predictions.languages],
        about={name: facts(value) for name, value in report.about.items()},
    )


def _pooled(mean: MeanReport, languages: Sequence[Predicted]) -> str:
    number = len(languages)
    if number == 1:
        return languages[0].language
    return f"the {number} target languages" if mean.name == "targets" else f"all {number} languages"


def type_table(languages: Sequence[Predicted], rows: Sequence[LanguageReport]) -> TypeTable:
    """Spans by type, lenient, as the main score counts them.

    Args:
        languages: The predictions that are put together for the whole.
        rows: Every language of the report.
    """
    result = SpanF1().compute(
        predictions=[tags for language in languages for tags in language.predicted],
        references=[tags for language in languages for tags in language.gold],
    )
    by_language = {row.language: row.details["span_f1_lenient"]["lenient"]["per_type"] for row in rows}
    types = sorted({name for found in by_language.values() for name in found})
    return TypeTable(
        types,
        result["lenient"]["per_type"],
        {
            language: [found[name]["f1"] if name in found else None for name in types]
            for language, found in by_language.items()
        },
    )


def confusion(languages: Sequence[Predicted], whole: Sequence[Predicted], labels: Sequence[str]) -> Confusion:
    """Labels of words or texts against the gold ones.

    Args:
        languages: Every language.
        whole: Those whose counts are added up.
        labels: The labels of the model, in its order; labels that only gold has come behind them.
    """
    pairs = {language.language: Counter(_pairs(language)) for language in languages}
    added = sum((pairs[language.language] for language in whole), Counter[tuple[str, str]]())
    often: Counter[str] = Counter()
    for pair, times in added.items():
        often.update({label: times for label in pair})
    named = [*(x for x in labels if often[x]), *sorted(set(often) - set(labels))]
    if len(named) > MOST_LABELS:
        kept = {label for label, _ in often.most_common(MOST_LABELS - 1)}
        named = [*(label for label in named if label in kept), OTHERS]
    place = {label: i for i, label in enumerate(named)}
    counts = [[0] * len(named) for _ in named]
    for (gold, predicted), times in added.items():
        counts[place.get(gold, len(named) - 1)][place.get(predicted, len(named) - 1)] += times
    shares = [[times / max(1, sum(row)) for times in row] for row in counts]
    return Confusion(named, counts, shares, {language: _most_frequent(found) for language, found in pairs.items()})


def _pairs(language: Predicted) -> list[tuple[str, str]]:
    """Gold and predicted label of every word or text."""
    if language.kind == "classification":
        return list(zip(language.gold, language.predicted, strict=True))
    rows = zip(language.gold, language.predicted, strict=True)
    return [pair for gold, predicted in rows for pair in zip(gold, predicted, strict=True)]


def _most_frequent(pairs: Counter[tuple[str, str]]) -> list[tuple[str, str, int]]:
    wrong = Counter({pair: times for pair, times in pairs.items() if pair[0] != pair[1]})
    return [(gold, predicted, times) for (gold, predicted), times in wrong.most_common(3)]
