"""Evaluations and comparisons as text, for the terminal and for Markdown: tables in percent, and notes on them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dlfa_adapters.data.assemble import left_out
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.kinds import SCORED, kind_named
from dlfa_adapters.scores.compare import Comparison, DifferenceRow
from dlfa_adapters.scores.intervals import LEVEL, Difference, Estimate, few_items
from dlfa_adapters.scores.languages_read import adapter_notes, centre_notes, shift_notes
from dlfa_adapters.scores.report import Report, Table

NO_VALUE = "–"
INTERVAL = f"{100 * LEVEL:.0f} %"
"""Title of a column of intervals."""


@dataclass(frozen=True)
class TextTable:
    """A table as text; its first column holds names, the others numbers.

    Attributes:
        header: Titles of the columns.
        rows: The rows.
        title: What stands above it on the terminal; "" for nothing.
        heading: What stands above it in Markdown; "" for nothing.
    """

    header: list[str]
    rows: list[list[str]]
    title: str = ""
    heading: str = ""

    def markdown(self) -> Iterator[str]:
        """Its lines in Markdown."""
        yield _markdown_row(self.header)
        yield "|---|" + "---:|" * (len(self.header) - 1)
        yield from map(_markdown_row, self.rows)


def to_markdown(title: str, tables: Iterable[TextTable], notes: Iterable[str]) -> str:
    """Tables, and what a reader has to know about them, as Markdown."""
    lines = [f"# {cell(title)}", ""]
    for table in tables:
        lines += [*([f"## {table.heading}", ""] if table.heading else []), *table.markdown(), ""]
    return "\n".join([*lines, *(f"- {cell(note)}" for note in notes)]) + "\n"


def tables(report: Report) -> list[TextTable]:
    """The tables of a report: languages and means, and the same again without placeholder pairs."""
    data = report.about.get("data", {})
    title = report.task["name"] + (f" on {data['source']} ({data['split']})" if data else "")
    without = "Without placeholder pairs"
    shown = _tables(report, report.table, title)
    if report.without_placeholders is not None:
        shown += _tables(report, report.without_placeholders, without, without)
    return shown


def markdown(report: Report) -> str:
    """The report, without the details of each type, as Markdown."""
    shown = tables(report)
    return to_markdown(shown[0].title, shown, notes(report))


def comparison_tables(comparison: Comparison) -> list[TextTable]:
    """The tables of a comparison: for each score, languages and means."""
    shown = []
    for score, title in comparison.titles.items():
        for rows, names, what, heading in (
            (comparison.languages, ["", "items"], "by language", title),
            (comparison.means, ["mean over", "languages"], "means", ""),
        ):
            adjusted = any(row.scores[score].adjusted_p is not None for row in rows)
            header = [*names, f"A: {title}", "B", f"B - A [{INTERVAL}]", "p", *["adjusted p"] * adjusted]
            cells = [[row.title, _size(row, names), *_difference(row.scores[score], adjusted)] for row in rows]
            shown.append(TextTable(header, cells, f"{title}, {what}", heading))
    return shown


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison of two models as Markdown."""
    return to_markdown("Comparison", comparison_tables(comparison), comparison_notes(comparison))


def in_form(value: float | None, form: str) -> str:
    """A number in a form such as `.2f`; a dash for None."""
    return NO_VALUE if value is None else format(value, form)


def between(low: float | None, high: float | None, form: str) -> str:
    """An interval in a form; "" for none."""
    return "" if low is None else f"[{in_form(low, form)}, {in_form(high, form)}]"


def percent(value: float | None, sign: str = "") -> str:
    """A fraction in percent with one decimal; a dash for None."""
    return NO_VALUE if value is None else f"{100 * value:{sign}.1f}"


def ends(low: float | None, high: float | None, sign: str = "") -> str:
    """An interval in percent; "" for none."""
    return "" if low is None else f"[{percent(low, sign)}, {percent(high, sign)}]"


def with_ends(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """A score or difference in percent with its interval, if it has one."""
    return f"{percent(value, sign)} {ends(low, high, sign)}".rstrip()


def _tables(report: Report, table: Table, title: str, heading: str = "") -> list[TextTable]:
    kind = SCORED[report.task["kind"], report.task["metric"]]
    support = ["support"] * kind.shows_support
    languages = [
        [
            row.language,
            f"{row.items:,}",
            *([] if row.words_total is None else [f"{row.words_total:,}"]),
            *(f"{row.support:,}" for _ in support),
            *_estimates(report, row.scores),
        ]
        for row in table.languages
    ]
    means = [[mean.title, str(len(mean.languages)), *_estimates(report, mean.scores)] for mean in table.means]
    return [
        TextTable(["", *kind.units, *support, *report.titles.values()], languages, title, heading),
        TextTable(["mean over", "languages", *report.titles.values()], means),
    ]


def _estimates(report: Report, scores: dict[str, Estimate]) -> list[str]:
    return [with_ends(each.value, each.low, each.high) for each in map(scores.__getitem__, report.titles)]


def _size(row: DifferenceRow, names: Sequence[str]) -> str:
    return f"{row.items:,}" if "items" in names else str(len(row.languages))


def _difference(delta: Difference, adjusted: bool) -> list[str]:
    values = [delta.p_value, *([delta.adjusted_p] if adjusted else [])]
    p = [NO_VALUE if value is None else f"{value:.3f}" for value in values]
    return [percent(delta.a), percent(delta.b), with_ends(delta.difference, delta.low, delta.high, "+"), *p]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Text that cannot end a line or a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


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
    yield from (f"{remark}." for remark in remarks[:_MOST_REMARKS])
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
    run = report.about.get("run", {})
    yield (
        f"[low, high]: {100 * LEVEL:.0f} % percentile bootstrap interval over items, {report.resamples:,} resamples, "
        f"seed {report.seed}."
    )
    if report.drawn is not None:
        yield report.drawn.sentence
    languages = report.table.languages
    yield from few_items((row.language, row.items) for row in languages)
    yield from adapter_notes(report)
    yield from centre_notes(report)
    yield from shift_notes(report)
    if not report.source_languages:
        yield "The run does not tell which language it was trained on, so nothing is split by it."
    elif any(mean.name == "enf_family" for mean in report.table.means):
        if unplaced := [row.language for row in languages if row.family is None]:
            yield f"No family is known for {', '.join(unplaced)}; the split by families leaves them out."
    if any(row.language == UNKNOWN_LANGUAGE for row in languages):
        yield f"{UNKNOWN_LANGUAGE}: the language of the data is not known; name it with --languages."
    if (precision := run.get("precision", "fp32")) != "fp32":
        yield f"The encoder computed in {precision}."
    if picked_on := run.get("picked_on"):
        yield f"The model was picked on {picked_on}."


def comparison_notes(comparison: Comparison) -> list[str]:
    """What a reader of a comparison has to know."""
    sentences = [
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
        sentences.append(
            "Where nothing differs, one difference of twenty has p < 0.05; adjusted p (max-T) is for "
            f"{' and '.join(tested)} at once."
        )
    if comparison.drawn is not None:
        sentences.append(comparison.drawn.sentence)
    return [*sentences, *few_items((row.title, row.items) for row in comparison.languages)]
