"""The part of a page that shows a sweep: scores by layer, languages by layers, the table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlfa_adapters.report.charts import LineChart, line_chart
from dlfa_adapters.report.facts import Facts, facts
from dlfa_adapters.scores.groups import Group
from dlfa_adapters.scores.intervals import LEVEL
from dlfa_adapters.sweeps.table import SavedSweep, SweepTable, TableLine
from dlfa_adapters.sweeps.variants import BASELINE

_LAYER = re.compile(r"D_(\d+)")


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
    layers = {int(found[1]): mean for name, mean in means.items() if (found := _LAYER.fullmatch(name))}
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
