"""The table of a sweep as rows of text, for the terminal and for Markdown."""

import math
from collections.abc import Iterator, Sequence

from dlfa_adapters.learning.finish import language_names
from dlfa_adapters.learning.rate_choice import Attempt
from dlfa_adapters.scores.intervals import LEVEL
from dlfa_adapters.scores.paired import Difference
from dlfa_adapters.scores.render import NO_VALUE, Rows, markdown_table
from dlfa_adapters.scores.report import Estimate
from dlfa_adapters.sweeps.results import SweepResult
from dlfa_adapters.sweeps.table import Line, SweepTable

INTERVAL = f"{100 * LEVEL:.0f} %"
"""Title of the column of intervals."""

EDGE = "!"
"""Mark of a learning rate that is the lowest or the highest of those that were tried."""


def header(table: SweepTable, group: str) -> list[str]:
    """Column titles of `rows`."""
    against = [f"against {name}" for name in table.compared]
    return ["", "rate", "epoch", "dev", table.groups[group].title, INTERVAL, *against]


def rows(table: SweepTable, group: str) -> Rows:
    """A row a variant: dev, mean over the languages of a group, differences to baseline and control."""
    return [
        [
            line.name,
            _rates(line),
            f"{line.epoch:.1f}",
            _spread(line.dev, line.dev_spread),
            _spread(line.means[group].value, line.spread[group]),
            _interval(line.means[group]),
            *(_difference(line.against[group].get(name)) for name in table.compared),
        ]
        for line in table.lines
    ]


def language_header(lines: list[Line]) -> list[str]:
    """Column titles of `language_rows`."""
    return ["", *(line.name for line in lines)]


def language_rows(table: SweepTable, lines: list[Line]) -> Rows:
    """A row a language, a column a variant: the mean over seeds; the mean over each group below."""
    names = list(table.lines[0].languages)
    found = [[name, *(_value(line.languages[name].value) for line in lines)] for name in names]
    return found + [
        [group.title, *(_value(line.means[group.name].value) for line in lines)] for group in table.groups.values()
    ]


def notes(result: SweepResult, table: SweepTable) -> list[str]:
    """What a reader of the table has to know."""
    seeds = max(line.seeds for line in table.lines)
    best = result.best()
    told = [
        f"{table.title} in percent, mean over {seeds} seeds ± their standard deviation"
        if seeds > 1
        else f"{table.title} in percent, one seed: differences that are smaller than those between seeds mean nothing",
        f"[low, high]: {100 * LEVEL:.0f} % percentile bootstrap over the items of each language, {table.resamples:,} "
        "resamples, the same items for all heads; not over seeds",
        *_several(table),
        *([] if table.drawn is None else [table.drawn.sentence.removesuffix(".")]),
        f"{language_names(result.sources)} dev chooses each head's epoch and the best head: {best.spec.name} "
        f"(seed {best.spec.seed}, epoch {best.epoch}, dev {best.dev_score:.2f}); target languages choose nothing",
    ]
    tried = next((line.rates.tried for line in table.lines if line.rates.tried), ())
    if tried:
        edges = [line.name for line in table.lines if line.rates.edges]
        told.append(
            f"rate: the head's, the best on dev of {_listed(tried)}, which each head's first seed was trained at"
            + (f"; {EDGE}: at an end of these, so that another may be better ({', '.join(edges)})" if edges else "")
        )
    if result.control in table.compared:
        told.append(
            f"{result.control}, the control, fuses the last layer with itself, and equation (4) then gives that layer "
            "whatever the weight: it equals `last` by algebra, and what lies between the two is the noise of the runs"
        )
    return told


def markdown(result: SweepResult, table: SweepTable) -> str:
    """The whole table as Markdown."""
    about = result.about
    encoder = about.get("encoder", {}).get("name", "")
    lines = [f"# Sweep: {result.task.name}, {encoder}, {result.tuning}", ""]
    for name, group in table.groups.items():
        lines += [f"## {group.title}: {', '.join(group.languages)}", ""]
        lines += [*markdown_table(header(table, name), rows(table, name)), ""]
    lines += ["## By language", "", *_by_language(table)]
    return "\n".join([*lines, *(f"- {note}." for note in notes(result, table))]) + "\n"


def _by_language(table: SweepTable) -> Iterator[str]:
    """A line a variant here: a page has room for many lines, not for many columns."""
    names = list(table.lines[0].languages)
    yield from markdown_table(
        ["", *names], [[line.name, *(_value(line.languages[name].value) for name in names)] for line in table.lines]
    )
    yield ""


def _listed(tried: Sequence[Attempt]) -> str:
    return ", ".join(dict.fromkeys(str(attempt.rates) for attempt in tried))


def _rates(line: Line) -> str:
    """The rates, with a mark where they are at an end of what was tried."""
    if math.isnan(line.rates.rates.head):
        return NO_VALUE
    return f"{line.rates.rates}{EDGE if line.rates.edges else ''}"


def _spread(value: float | None, spread: float | None) -> str:
    return _value(value) + (f" ± {spread:.1f}" if spread is not None else "")


def _interval(estimate: Estimate) -> str:
    return NO_VALUE if estimate.low is None else f"[{estimate.low:.1f}, {estimate.high:.1f}]"


def _difference(found: Difference | None) -> str:
    if found is None or found.difference is None:
        return ""
    low, high = found.ends
    return f"{found.difference:+.1f}" + ("" if low is None else f" [{low:+.1f}, {high:+.1f}]")


def _several(table: SweepTable) -> Iterator[str]:
    """On the number of differences."""
    heads = len(table.lines) - 1
    if table.compared and heads > 1:
        yield (
            f"the intervals of differences hold for all {heads} at once (max-T): with one for each head alone, "
            f"{100 * LEVEL:.0f} % sure, one head of twenty seems to differ where none does"
        )


def _value(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}"
