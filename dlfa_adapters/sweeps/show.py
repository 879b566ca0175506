"""The table of a sweep as rows of text, for the terminal and for Markdown, and its plots."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.ground.plots import check_matplotlib
from dlfa_adapters.learning.finish import language_names
from dlfa_adapters.scores.intervals import LEVEL, Difference
from dlfa_adapters.scores.show import INTERVAL, NO_VALUE, TextTable, ends, percent, to_markdown, with_ends
from dlfa_adapters.sweeps.table import SweepTable, TableLine
from dlfa_adapters.sweeps.trainings import SweepResult
from dlfa_adapters.sweeps.variants import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE = "!"
"""Mark of a learning rate that is the lowest or the highest of those that were tried."""

PLOTS = ("layers.svg", "languages.svg")


def group_table(table: SweepTable, group: str) -> TextTable:
    """A row a variant: dev, mean over the languages of a group, differences to baseline and control."""
    title = table.groups[group].title
    rows = [
        [
            line.name,
            _rates(line),
            f"{line.epoch:.1f}",
            _spread(line.dev, line.dev_spread),
            _spread(line.means[group].value, line.spread[group]),
            ends(line.means[group].low, line.means[group].high) or NO_VALUE,
            *(_difference(line.against[group].get(name)) for name in table.compared),
        ]
        for line in table.lines
    ]
    header = ["", "rate", "epoch", "dev", title, INTERVAL, *(f"against {name}" for name in table.compared)]
    return TextTable(header, rows, title, f"{title}: {', '.join(table.groups[group].languages)}")


def language_table(table: SweepTable, lines: Sequence[TableLine]) -> TextTable:
    """A row a language, a column a variant: the mean over seeds; the mean over each group below."""
    rows = [[name, *(percent(line.languages[name].value) for line in lines)] for name in table.lines[0].languages]
    for group in table.groups.values():
        rows.append([group.title, *(percent(line.means[group.name].value) for line in lines)])
    return TextTable(["", *(line.name for line in lines)], rows)


def sweep_markdown(result: SweepResult, table: SweepTable) -> str:
    """The table as Markdown."""
    encoder = result.about.get("encoder", {}).get("name", "")
    names = list(table.lines[0].languages)  # columns here: a page has room for many lines, not for many columns
    rows = [[line.name, *(percent(line.languages[name].value) for name in names)] for line in table.lines]
    shown = [*(group_table(table, name) for name in table.groups), TextTable(["", *names], rows, "", "By language")]
    notes = (f"{note}." for note in sweep_notes(result, table))
    return to_markdown(f"Sweep: {result.task.name}, {encoder}, {result.tuning}", shown, notes)


def sweep_notes(result: SweepResult, table: SweepTable) -> list[str]:
    """What a reader of the table has to know."""
    seeds = max(line.seeds for line in table.lines)
    best = result.best()
    notes = [
        f"{table.title} in percent, mean over {seeds} seeds ± their standard deviation"
        if seeds > 1
        else f"{table.title} in percent, one seed: differences that are smaller than those between seeds mean nothing",
        f"[low, high]: {100 * LEVEL:.0f} % percentile bootstrap over the items of each language, {table.resamples:,} "
        "resamples, the same items for all heads; not over seeds",
        *_several(table),
        *([] if table.drawn is None else [table.drawn.sentence.removesuffix(".")]),
        f"{language_names(result.judged_in)} dev chooses each head's epoch and the best head: {best.spec.name} "
        f"(seed {best.spec.seed}, epoch {best.epoch}, dev {best.dev_score:.2f}); target languages choose nothing",
    ]
    tried = next((line.rates.tried for line in table.lines if line.rates.tried), ())
    if tried:
        rates = dict.fromkeys(str(attempt.rates) for attempt in tried)
        edges = [line.name for line in table.lines if line.rates.edges]
        notes.append(
            f"rate: the head's, the best on dev of {', '.join(rates)}, which each head's first seed was trained at"
            + (f"; {EDGE}: at an end of these, so that another may be better ({', '.join(edges)})" if edges else "")
        )
    if result.control in table.compared:
        notes.append(
            f"{result.control}, the control, fuses the last layer with itself, and equation (4) then gives that layer "
            "whatever the weight: it equals `last` by algebra, and what lies between the two is the noise of the runs"
        )
    return notes


def _several(table: SweepTable) -> Iterator[str]:
    """On the number of differences."""
    heads = len(table.lines) - 1
    if table.compared and heads > 1:
        yield (
            f"the intervals of differences hold for all {heads} at once (max-T): with one for each head alone, "
            f"{100 * LEVEL:.0f} % sure, one head of twenty seems to differ where none does"
        )


def _rates(line: TableLine) -> str:
    """The rates, with a mark where they are at an end of what was tried."""
    if math.isnan(line.rates.rates.head):
        return NO_VALUE
    return f"{line.rates.rates}{EDGE if line.rates.edges else ''}"


def _spread(value: float | None, spread: float | None) -> str:
    return percent(value) + (f" ± {percent(spread)}" if spread is not None else "")


def _difference(delta: Difference | None) -> str:
    return "" if delta is None or delta.difference is None else with_ends(delta.difference, *delta.ends, "+")


def plot(folder: Path, result: SweepResult, table: SweepTable) -> list[Path]:
    """Draw both plots into a folder, and give their files.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    files = []
    for name, draw in zip(PLOTS, (_by_layer, _by_language), strict=True):
        figure = Figure(layout="constrained")
        draw(figure, result, table)
        with write_whole(folder / name) as draft:
            figure.savefig(draft, format="svg")
        files.append(folder / name)
    return files


def series(result: SweepResult) -> dict[str, dict[int, str]]:
    """Names of variants with a single layer, by what they have in common and by layer: `D_k` -> 7 -> `D_7`."""
    by_layer: dict[str, dict[int, str]] = {}
    for name, rows in result.variants().items():
        layers = rows[0].spec.head.layers
        if len(layers) == 1:
            head, tail = name.split(str(layers[0]), 1)
            by_layer.setdefault(f"{head}k{tail}", {})[layers[0]] = name
    return by_layer


def _by_layer(figure: Any, result: SweepResult, table: SweepTable) -> None:
    """The mean over the first group of languages by layer; the bands are the intervals."""
    group = table.group
    figure.set_size_inches(7.5, 4.5)
    axes: Axes = figure.subplots()
    for (title, names), marker in zip(series(result).items(), "osD^vPX<>ph*" * 9, strict=False):
        layers = sorted(names)
        estimates = [table.line(names[layer]).means[group.name] for layer in layers]
        values = [_points(estimate.value) for estimate in estimates]
        line = axes.plot(layers, values, marker=marker, ms=4, lw=1.3 if len(layers) > 1 else 0, label=title)
        low, high = ([_points(getattr(e, end)) for e in estimates] for end in ("low", "high"))
        if len(layers) > 1:
            axes.fill_between(layers, low, high, color=line[0].get_color(), alpha=0.15, lw=0)
        else:
            axes.vlines(layers, low, high, color=line[0].get_color(), lw=1)
    base = table.line(BASELINE).means[group.name]
    axes.axhline(_points(base.value), color="black", lw=1, ls="--", label="last layer")
    axes.axhspan(_points(base.low), _points(base.high), color="black", alpha=0.08, lw=0)
    languages = f"{len(group.languages)} {'target ' if group.name == 'targets' else ''}languages"
    axes.set(xlabel="layer k", ylabel=f"{table.title}, mean over {languages}")
    axes.set_xticks(range(result.num_layers + 1))
    axes.set_title(f"{result.task.name}, {result.tuning}: bands are 95 % bootstrap intervals", fontsize=9)
    axes.legend(fontsize=8)


def _by_language(figure: Any, result: SweepResult, table: SweepTable) -> None:
    """Languages by the baseline and D_1..D_L; the numbers stand in the cells."""
    names = next((list(names.values()) for title, names in series(result).items() if title == "D_k"), [])
    lines: list[TableLine] = [table.line(name) for name in (BASELINE, *names)]
    languages = list(lines[0].languages)
    figure.set_size_inches(1.5 + 0.5 * len(lines), 1.2 + 0.24 * len(languages))
    axes: Axes = figure.subplots()
    cells = [[_points(line.languages[language].value) for line in lines] for language in languages]
    image = axes.imshow(cells, aspect="auto", cmap="viridis")
    middle = (np.nanmin(cells) + np.nanmax(cells)) / 2
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            colour, weight = "w" if value < middle else "k", "bold" if value == np.nanmax(row) else "normal"
            axes.text(x, y, f"{value:.0f}", ha="center", va="center", size=6.5, weight=weight, color=colour)
    axes.set_xticks(range(len(lines)), [line.name for line in lines], fontsize=7)
    axes.set_yticks(range(len(languages)), languages, fontsize=7)
    axes.set_title(f"{result.task.name}: {table.title}, the best of each language in bold", fontsize=8)
    figure.colorbar(image)


def _points(value: float | None) -> float:
    """In percent, as a point of a plot."""
    return float("nan") if value is None else 100 * value
