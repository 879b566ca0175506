"""What a reader of a report or of a comparison has to know beside the scores: one sentence each."""

from collections import Counter
from collections.abc import Iterator

from dlfa_adapters.data.assemble import left_out
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.scores.compare import Comparison
from dlfa_adapters.scores.intervals import LEVEL, few_items
from dlfa_adapters.scores.report import Report

_MOST_REMARKS = 20


def notes(report: Report) -> list[str]:
    """The sentences below the tables of a report, in a fixed order."""
    return [*_data_notes(report), *_label_notes(report), *_method_notes(report)]


def _data_notes(report: Report) -> Iterator[str]:
    """What was scored, and what was not."""
    total: Counter[str] = Counter()
    for row in report.table.languages:
        sizes = {"items": row.items, "words_total": row.words_total or 0, "words_scored": row.words_scored or 0}
        total.update({**sizes, **row.counts})
    yield from kind_named(report.task["kind"]).count_notes(total)
    data = report.about.get("data", {})
    if data.get("limit"):
        yield f"Only the first {data['limit']:,} items of each language were taken (limit)."
    if data.get("dropped"):
        yield f"Left out: {left_out(data['dropped'])}."
    remarks = data.get("remarks", [])
    for remark in remarks[:_MOST_REMARKS]:
        yield f"{remark}."
    if len(remarks) > _MOST_REMARKS:
        yield f"There are {len(remarks) - _MOST_REMARKS:,} more remarks on the data; the JSON report has all."
    if str(data.get("source", "")).startswith("samples:"):
        yield "These sentences are samples: the scores show how things work and are no results."


def _label_notes(report: Report) -> Iterator[str]:
    """Labels that cannot be right, scores that do not exist."""
    unknown: Counter[str] = Counter()
    for row in report.table.languages:
        unknown.update(row.unknown_gold_labels)
    if unknown:
        named = ", ".join(f"{label} ({count:,})" for label, count in sorted(unknown.items()))
        yield f"Gold labels that the model does not have, counted as missed: {named}."
    for name, title in report.titles.items():
        if without := [row.language for row in report.table.languages if row.scores[name].value is None]:
            yield f"{title} is not defined in {', '.join(without)} (nothing in gold or predicted); means leave it out."


def _method_notes(report: Report) -> Iterator[str]:
    """How the numbers were made."""
    yield (
        f"[low, high]: {100 * LEVEL:.0f} % percentile bootstrap interval over items, {report.resamples:,} resamples, "
        f"seed {report.seed}."
    )
    if report.drawn is not None:
        yield report.drawn.sentence
    languages = report.table.languages
    yield from few_items((row.language, row.items) for row in languages)
    yield from _adapter_notes(report)
    if not report.source_languages:
        yield "The run does not tell which language it was trained on, so nothing is split by it."
    elif any(mean.name == "enf_family" for mean in report.table.means):
        if unplaced := [row.language for row in languages if row.family is None]:
            yield f"No family is known for {', '.join(unplaced)}; the split by families leaves them out."
    if any(row.language == UNKNOWN_LANGUAGE for row in languages):
        yield f"{UNKNOWN_LANGUAGE}: the language of the data is not known; name it with --languages."
    if (precision := report.about.get("run", {}).get("precision", "fp32")) != "fp32":
        yield f"The encoder computed in {precision}."
    if picked_on := report.about.get("run", {}).get("picked_on"):
        yield f"The model was picked on {picked_on}."


def _adapter_notes(report: Report) -> Iterator[str]:
    """With which language adapters a stack was read."""
    adapters = report.about.get("run", {}).get("language_adapters")
    if not adapters:
        return
    own = [
        f"{language} with {its['location']}" + (f" (of {its['language']})" if its["language"] else "")
        for language, its in adapters["given"].items()
    ]
    rest = [row.language for row in report.table.languages if row.language not in adapters["given"]]
    if rest:
        own.append(f"{', '.join(rest)} with the one of the source, {adapters['source']}")
    yield f"Language adapters: {'; '.join(own)}."


def comparison_notes(comparison: Comparison) -> list[str]:
    """What a reader of a comparison has to know."""
    told = [
        f"A is {comparison.a}; B is {comparison.b}.",
        f"[low, high]: {100 * LEVEL:.0f} % percentile interval of the paired bootstrap, {comparison.resamples:,} "
        f"resamples of the same items for both, seed {comparison.seed}; p: two-sided, from the same resamples, for one "
        "difference alone.",
    ]
    score = next(iter(comparison.titles))
    tested = [
        what
        for what, rows in (
            (f"the languages{' and models' * (comparison.models > 1)} of a table", comparison.languages),
            (f"the {comparison.models} models of each mean", comparison.means),
        )
        if any(row.scores[score].adjusted_p is not None for row in rows)
    ]
    if tested:
        told.append(
            "Where nothing differs, one difference of twenty has p < 0.05; adjusted p (max-T) is for "
            f"{' and '.join(tested)} at once."
        )
    if comparison.drawn is not None:
        told.append(comparison.drawn.sentence)
    return [*told, *few_items((row.title, row.items) for row in comparison.languages)]
