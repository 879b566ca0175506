"""Tables of evaluations and of comparisons as text, for the terminal and for Markdown. Scores are in percent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dlfa_adapters.kinds.registry import SCORED
from dlfa_adapters.scores.compare import Comparison, DifferenceRow
from dlfa_adapters.scores.intervals import LEVEL, Difference, Estimate
from dlfa_adapters.scores.notes import comparison_notes, notes
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
    return (
        shown
        if report.without_placeholders is None
        else shown + _tables(report, report.without_placeholders, without, without)
    )


def markdown(report: Report) -> str:
    """The whole report, without the details of each type, as Markdown."""
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
    """The whole comparison of two models as Markdown."""
    return to_markdown("Comparison", comparison_tables(comparison), comparison_notes(comparison))


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
    return [with_ends(found.value, found.low, found.high) for found in map(scores.__getitem__, report.titles)]


def _size(row: DifferenceRow, names: Sequence[str]) -> str:
    return f"{row.items:,}" if "items" in names else str(len(row.languages))


def _difference(found: Difference, adjusted: bool) -> list[str]:
    values = [found.p_value, *([found.adjusted_p] if adjusted else [])]
    p = [NO_VALUE if value is None else f"{value:.3f}" for value in values]
    return [percent(found.a), percent(found.b), with_ends(found.difference, found.low, found.high, "+"), *p]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Text that cannot end a line or a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
