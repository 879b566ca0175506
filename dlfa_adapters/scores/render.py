"""Reports and comparisons as rows of text, for the terminal and for Markdown. Scores are in percent."""

from collections.abc import Iterable, Iterator, Sequence

from dlfa_adapters.scores.compare import Comparison, DifferenceRow
from dlfa_adapters.scores.intervals import LEVEL, few_items
from dlfa_adapters.scores.notes import notes
from dlfa_adapters.scores.paired import Difference
from dlfa_adapters.scores.report import Estimate, Report, Table

Rows = list[list[str]]
NO_VALUE = "–"


def percent(value: float | None, sign: str = "") -> str:
    """A fraction in percent with one decimal; a dash for None."""
    return NO_VALUE if value is None else f"{100 * value:{sign}.1f}"


def report_header(report: Report) -> list[str]:
    """Column titles of `language_rows`."""
    unit = ["sentences", "words"] if report.task["kind"] == "tagging" else ["items"]
    return ["", *unit, *(["support"] if report.task["metric"] == "span_f1" else []), *report.titles.values()]


def language_rows(report: Report, table: Table) -> Rows:
    """A row a language: name, sizes, every score with its interval."""
    rows = []
    for row in table.languages:
        sizes = [f"{row.items:,}", *([] if row.words_total is None else [f"{row.words_total:,}"])]
        if report.task["metric"] == "span_f1":
            sizes.append(f"{row.support:,}")
        rows.append([row.language, *sizes, *(_estimate(row.scores[name]) for name in report.titles)])
    return rows


def mean_header(report: Report) -> list[str]:
    """Column titles of `mean_rows`."""
    return ["mean over", "languages", *report.titles.values()]


def mean_rows(report: Report, table: Table) -> Rows:
    """A row a group of languages."""
    return [
        [mean.title, str(len(mean.languages)), *(_estimate(mean.scores[name]) for name in report.titles)]
        for mean in table.means
    ]


def markdown(report: Report) -> str:
    """The whole report, without the details of each type, as Markdown."""
    data = report.about.get("data", {})
    lines = [f"# {report.task['name']}" + (f" on {_cell(data['source'])} ({data['split']})" if data else ""), ""]
    tables = [report.table, *([report.without_placeholders] if report.without_placeholders else [])]
    for table in tables:
        if table is report.without_placeholders:
            lines += ["## Without placeholder pairs", ""]
        lines += [*markdown_table(report_header(report), language_rows(report, table)), ""]
        lines += [*markdown_table(mean_header(report), mean_rows(report, table)), ""]
    lines += [f"- {_cell(note)}" for note in notes(report)]
    return "\n".join(lines) + "\n"


def comparison_header(comparison: Comparison, score: str) -> list[str]:
    """Column titles of `comparison_rows`."""
    return _comparison_header(comparison, score, ["", "items"], comparison.languages)


def comparison_mean_header(comparison: Comparison, score: str) -> list[str]:
    """Column titles of `comparison_mean_rows`."""
    return _comparison_header(comparison, score, ["mean over", "languages"], comparison.means)


def _comparison_header(
    comparison: Comparison, score: str, first: list[str], rows: Sequence[DifferenceRow]
) -> list[str]:
    titles = [*first, f"A: {comparison.titles[score]}", "B", f"B - A [{100 * LEVEL:.0f} %]", "p"]
    return [*titles, "adjusted p"] if _is_adjusted(rows, score) else titles


def comparison_rows(comparison: Comparison, score: str) -> Rows:
    """A row a language: both scores, the difference with its interval, the p-value, adjusted where there are more."""
    adjusted = _is_adjusted(comparison.languages, score)
    return [[row.title, f"{row.items:,}", *_difference(row.scores[score], adjusted)] for row in comparison.languages]


def comparison_mean_rows(comparison: Comparison, score: str) -> Rows:
    """A row a group of languages."""
    adjusted = _is_adjusted(comparison.means, score)
    return [[row.title, str(len(row.languages)), *_difference(row.scores[score], adjusted)] for row in comparison.means]


def _is_adjusted(rows: Sequence[DifferenceRow], score: str) -> bool:
    return any(row.scores[score].adjusted_p is not None for row in rows)


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
        if _is_adjusted(rows, score)
    ]
    if tested:
        told.append(
            "Where nothing differs, one difference of twenty has p < 0.05; adjusted p (max-T) is for "
            f"{' and '.join(tested)} at once."
        )
    if comparison.drawn is not None:
        told.append(comparison.drawn.sentence)
    return [*told, *few_items((row.title, row.items) for row in comparison.languages)]


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison of two models as Markdown."""
    lines = ["# Comparison", ""]
    for score, title in comparison.titles.items():
        languages = markdown_table(comparison_header(comparison, score), comparison_rows(comparison, score))
        means = markdown_table(comparison_mean_header(comparison, score), comparison_mean_rows(comparison, score))
        lines += [f"## {title}", "", *languages, "", *means, ""]
    return "\n".join([*lines, *(f"- {_cell(note)}" for note in comparison_notes(comparison))]) + "\n"


def _difference(found: Difference, adjusted: bool) -> list[str]:
    difference = percent(found.difference, "+")
    if found.low is not None:
        difference += f" [{percent(found.low, '+')}, {percent(found.high, '+')}]"
    values = [found.p_value, *([found.adjusted_p] if adjusted else [])]
    p = [NO_VALUE if value is None else f"{value:.3f}" for value in values]
    return [percent(found.a), percent(found.b), difference, *p]


def _estimate(estimate: Estimate) -> str:
    if estimate.low is None:
        return percent(estimate.value)
    return f"{percent(estimate.value)} [{percent(estimate.low)}, {percent(estimate.high)}]"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table as lines of Markdown."""
    yield _markdown_row(header)
    yield "|---|" + "---:|" * (len(header) - 1)
    yield from map(_markdown_row, rows)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
