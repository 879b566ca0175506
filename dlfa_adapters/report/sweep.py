"""The part of a page that shows a sweep: scores by layer, languages by layers, the table.

The geometry of the drawing is in the units of its SVG; the templates write the elements.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from dlfa_adapters.report.evaluation import Facts, facts
from dlfa_adapters.scores.groups import Group
from dlfa_adapters.scores.intervals import LEVEL, Estimate
from dlfa_adapters.scores.show import percent
from dlfa_adapters.sweeps.table import SavedSweep, SweepTable, TableLine
from dlfa_adapters.sweeps.variants import BASELINE

_LAYER = re.compile(r"D_(\d+)")
WIDTH, HEIGHT = 420, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 10, 12, 34


@dataclass(frozen=True)
class Point:
    """One value of a line chart.

    Attributes:
        x: From the left.
        y: From the top.
        low: Where the interval ends below; None without one.
        high: Where it ends above.
        name: What stands under it on the axis; "" where there is no room.
        label: What it is, in words.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    name: str
    label: str


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: the baseline.

    Attributes:
        y: From the top.
        low: Where the interval ends below; None without one.
        high: Where it ends above.
        label: What it is, in words.
    """

    y: float
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True)
class LineChart:
    """Scores by layer.

    Attributes:
        points: The values, from left to right.
        level: The baseline, if there is one.
        ticks: Height and text of the lines of the grid.
        path: The line through the points, as an SVG path.
    """

    points: list[Point]
    level: Level | None
    ticks: list[tuple[float, str]]
    path: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def line_chart(
    names: Sequence[str], scores: Sequence[Estimate], baseline: tuple[str, Estimate] | None = None
) -> LineChart | None:
    """A chart of scores, fractions, with their intervals, in the order of the axis; what is not defined is left out.

    Returns:
        The chart; None if no score is defined.
    """
    level = baseline if baseline is not None and baseline[1].value is not None else None
    every = [*scores, *([level[1]] if level else [])]
    values = [100 * x for score in every for x in (score.value, score.low, score.high) if x is not None]
    if not values:
        return None
    step = next(s for s in (1, 2, 5, 10, 20, 50) if (max(values) - min(values)) / s <= 6)
    bottom, top = floor(min(values) / step) * step, max(ceil(max(values) / step), floor(min(values) / step) + 1) * step

    def y(value: float | None) -> float | None:
        inner = HEIGHT - _TOP - _BOTTOM
        return None if value is None else round(_TOP + inner * (top - 100 * value) / (top - bottom), 1)

    def placed(score: Estimate) -> tuple[float, float | None, float | None]:
        return y(score.value) or 0.0, y(score.low), y(score.high)

    gap = (WIDTH - _LEFT - _RIGHT) / max(1, len(names))
    every_nth = ceil(max(len(name) for name in names) * 6.5 / gap)
    points = [
        Point(
            round(_LEFT + gap * (i + 0.5), 1),
            *placed(score),
            name if i % every_nth == 0 else "",
            f"{name}: {in_words(score)}",
        )
        for i, (name, score) in enumerate(zip(names, scores, strict=True))
        if score.value is not None
    ]
    ticks = [(y(tick / 100) or 0.0, str(tick)) for tick in range(bottom, top + 1, step)]
    path = " ".join(f"{'L' if i else 'M'}{point.x} {point.y}" for i, point in enumerate(points))
    drawn = Level(*placed(level[1]), f"{level[0]}: {in_words(level[1])}") if level else None
    return LineChart(points, drawn, ticks, path)


def in_words(score: Estimate) -> str:
    """A score in percent with its interval, as text."""
    if score.value is None:
        return "not defined"
    ends = "" if score.low is None else f", from {percent(score.low)} to {percent(score.high)}"
    return percent(score.value) + ends


@dataclass(frozen=True)
class HeatRow:
    """A row of the heat map.

    Attributes:
        name: A language, or what a mean is over.
        is_mean: Whether it is a mean.
        values: A score a variant, a fraction; None where it is not defined.
        shades: From 0 (the lowest score of the map) to 100 (the highest).
        best: The highest of the row.
    """

    name: str
    is_mean: bool
    values: list[float | None]
    shades: list[float]
    best: float | None


@dataclass(frozen=True)
class SweepPart:
    """What the template of a sweep needs.

    Attributes:
        table: The scores.
        group: What the means are over.
        picked: The variant that is best on source dev data.
        chart: The mean by layer; None without layers.
        heat: The heat map.
        notes: What a reader has to know.
        configuration: What the sweep records, by part.
    """

    table: SweepTable
    group: Group
    picked: TableLine
    chart: LineChart | None
    heat: list[HeatRow]
    notes: list[str]
    configuration: dict[str, Facts]


def sweep_part(sweep: SavedSweep) -> SweepPart:
    """Collect what is shown of a sweep."""
    table = sweep.table
    seeds = max(line.seeds for line in table.lines)
    return SweepPart(
        table=table,
        group=table.group,
        picked=sweep.best,
        chart=_chart(table),
        heat=_heat(table),
        notes=[
            f"Trained on labels in {', '.join(sweep.sources)}; tuning {sweep.tuning}; "
            + (f"{seeds} seeds of each head." if seeds > 1 else "one seed of each head."),
            f"{sweep.best.name} is best on dev data of the source language, which alone choose head and epoch.",
            f"Intervals: {100 * LEVEL:.0f} % percentile bootstrap over items, {table.resamples:,} resamples, seed "
            f"{table.seed}; of differences on the same items. ±: standard deviation over seeds.",
            *_method(table),
        ],
        configuration={name: facts(value) for name, value in sweep.about.items()},
    )


def _method(table: SweepTable) -> Iterator[str]:
    """What the differences hold for, and how languages are drawn."""
    if any(each.adjusted_p is not None for line in table.lines for each in line.against[table.group.name].values()):
        yield f"Intervals and p of differences are for all {len(table.lines) - 1} heads at once (max-T)."
    elif len(table.lines) > 2:
        yield "Intervals and p of differences are for each head alone: of twenty one seems to differ where none does."
    if table.drawn is not None:
        yield table.drawn.sentence


def _chart(table: SweepTable) -> LineChart | None:
    """The mean by layer, with the baseline as a level."""
    means = {line.name: line.means[table.group.name] for line in table.lines}
    layers = {int(match[1]): mean for name, mean in means.items() if (match := _LAYER.fullmatch(name))}
    if not layers:
        return None
    order = sorted(layers)
    baseline = (BASELINE, means[BASELINE]) if BASELINE in means else None
    return line_chart([str(k) for k in order], [layers[k] for k in order], baseline)


def _heat(table: SweepTable) -> list[HeatRow]:
    """Languages, then groups, by variants."""
    rows = [(x, False, [line.languages[x].value for line in table.lines]) for x in table.lines[0].languages]
    for group in table.groups.values():
        rows.append((group.title, True, [line.means[group.name].value for line in table.lines]))
    there = [value for _, _, values in rows for value in values if value is not None]
    low, high = min(there, default=0.0), max(there, default=1.0)

    def shade(value: float | None) -> float:
        return 0.0 if value is None or high == low else round(100 * (value - low) / (high - low), 1)

    return [
        HeatRow(
            name, is_mean, values, [shade(x) for x in values], max((x for x in values if x is not None), default=None)
        )
        for name, is_mean, values in rows
    ]
