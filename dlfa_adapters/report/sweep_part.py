"""The part of a page that shows a sweep: scores by layer, languages by layers, the table; read from `sweep.json`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.report.charts import LineChart, line_chart
from dlfa_adapters.report.facts import Facts, facts
from dlfa_adapters.scores.intervals import LEVEL, Difference, Estimate
from dlfa_adapters.scores.translations import EARLIER, Drawn

SWEEP = "sweep.json"
FORMAT = 1
_BASELINE = "last"
_LAYER = re.compile(r"D_(\d+)")
_SHOWN_APART = ("format", "table", "heads", "best", "task", "metric", "num_layers", "sources", "tuning")


@dataclass(frozen=True)
class Variant:
    """A line of the table.

    Attributes:
        name: `last`, `D_7`...
        dev: Score on source dev data, in percent.
        dev_spread: Standard deviation over seeds; None for a single one.
        mean: Mean over the languages of the first group.
        spread: Standard deviation of that over seeds.
        against: What it is above the others that it is compared with, by name, in points.
        picked: Whether it is best on source dev data.
    """

    name: str
    dev: float
    dev_spread: float | None
    mean: Estimate
    spread: float | None
    against: dict[str, Difference]
    picked: bool


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
        title: What the scores are.
        group: What the mean is over.
        compared: Names of the baseline and the control.
        picked: The variant that is best on source dev data.
        chart: The mean by layer; None without layers.
        variants: The table.
        heat: The heat map.
        notes: What a reader has to know.
        configuration: What the sweep records, by part.
    """

    title: str
    group: str
    compared: list[str]
    picked: Variant
    chart: LineChart | None
    variants: list[Variant]
    heat: list[HeatRow]
    notes: list[str]
    configuration: dict[str, Facts]


def sweep_file(source: str | Path) -> Path | None:
    """The `sweep.json` that a source is or holds, if any."""
    path = Path(source)
    if path.is_file():
        return path if path.name == SWEEP else None
    return path / SWEEP if (path / SWEEP).is_file() else None


def read_sweep(file: Path) -> dict[str, Any]:
    """What a `sweep.json` holds.

    Raises:
        RunError: If it is damaged, or of a newer version.
    """
    try:
        whole = json.loads(file.read_text("utf-8"))
        if whole["format"] != FORMAT:
            raise RunError(
                f"{file} has sweep format {whole['format']!r}, this version reads format {FORMAT}; "
                "pip install -U dlfa-adapters"
            )
        return dict(whole)
    except RunError:
        raise
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise RunError(f"{file} is damaged ({error}); call dlfa sweep again.") from None


def sweep_part(whole: Mapping[str, Any]) -> SweepPart:
    """Collect what is shown of a sweep.

    Args:
        whole: What `sweep.json` holds; its scores are in percent.

    Raises:
        KeyError: If something is missing.
        TypeError: If something is of another kind.
    """
    table = whole["table"]
    lines, group = table["lines"], next(iter(table["groups"].values()))
    variants = [_variant(line, group["name"], whole["best"]["name"]) for line in lines]
    seeds = max(line["seeds"] for line in lines)
    return SweepPart(
        title=table["title"],
        group=group["title"],
        compared=table["compared"],
        picked=next(variant for variant in variants if variant.picked),
        chart=_chart(variants),
        variants=variants,
        heat=_heat(lines, list(table["groups"].values())),
        notes=[
            f"Trained on labels in {', '.join(whole['sources'])}; tuning {whole['tuning']}; "
            + (f"{seeds} seeds of each head." if seeds > 1 else "one seed of each head."),
            f"{whole['best']['name']} is best on dev data of the source language, which alone choose head and epoch.",
            f"Intervals: {100 * LEVEL:.0f} % percentile bootstrap over items, {table['resamples']:,} resamples, seed "
            f"{table['seed']}; of differences on the same items. ±: standard deviation over seeds.",
            *_method(table),
        ],
        configuration={name: facts(value) for name, value in whole.items() if name not in _SHOWN_APART},
    )


def _method(table: Mapping[str, Any]) -> Iterator[str]:
    """What the differences hold for, and how languages are drawn."""
    lines = table["lines"]
    group = next(iter(table["groups"].values()))["name"]
    differences = [Difference(**found) for line in lines for found in line["against"][group].values()]
    if any(found.adjusted_p is not None for found in differences):
        yield f"Intervals and p of differences are for all {len(lines) - 1} heads at once (max-T)."
    elif len(lines) > 2:
        yield "Intervals and p of differences are for each head alone: of twenty one seems to differ where none does."
    if (drawn := Drawn.from_dict(table["drawn"]) if "drawn" in table else EARLIER) and len(lines[0]["languages"]) > 1:
        yield drawn.sentence


def _variant(line: Mapping[str, Any], group: str, best: str) -> Variant:
    return Variant(
        name=line["name"],
        dev=line["dev"],
        dev_spread=line["dev_spread"],
        mean=_fraction(line["means"][group]),
        spread=line["spread"][group],
        against={other: Difference(**found) for other, found in line["against"][group].items()},
        picked=line["name"] == best,
    )


def _chart(variants: Sequence[Variant]) -> LineChart | None:
    """The mean by layer, with the baseline as a level."""
    layers = {int(found[1]): x for x in variants if (found := _LAYER.fullmatch(x.name))}
    if not layers:
        return None
    baseline = next(((x.name, x.mean) for x in variants if x.name == _BASELINE), None)
    order = sorted(layers)
    return line_chart([str(k) for k in order], [layers[k].mean for k in order], baseline)


def _heat(lines: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]) -> list[HeatRow]:
    """Languages, then groups, by variants."""
    rows: list[tuple[str, bool, list[float | None]]] = [
        (language, False, [_fraction(line["languages"][language]).value for line in lines])
        for language in lines[0]["languages"]
    ]
    rows += [
        (group["title"], True, [_fraction(line["means"][group["name"]]).value for line in lines]) for group in groups
    ]
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


def _fraction(estimate: Mapping[str, Any]) -> Estimate:
    return Estimate(*(None if estimate[key] is None else estimate[key] / 100 for key in ("value", "low", "high")))
