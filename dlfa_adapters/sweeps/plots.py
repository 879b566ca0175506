"""Plots of a sweep: scores by layer with intervals, and a heat map of layers and languages."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.ground.packages import check_matplotlib
from dlfa_adapters.sweeps.results import BASELINE, SweepResult
from dlfa_adapters.sweeps.table import Line, SweepTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILES = ("layers.svg", "languages.svg")


def plot(folder: Path, result: SweepResult, table: SweepTable) -> list[Path]:
    """Draw both plots into a folder.

    Args:
        folder: Where to.
        result: The sweep.
        table: Its table.

    Returns:
        The files.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    found = []
    for name, draw in zip(FILES, (_by_layer, _by_language), strict=True):
        figure = Figure(layout="constrained")
        draw(figure, result, table)
        with write_whole(folder / name) as draft:
            figure.savefig(draft, format="svg")
        found.append(folder / name)
    return found


def series(result: SweepResult) -> dict[str, dict[int, str]]:
    """Names of variants with a single layer, by what they have in common and by layer: `D_k` -> 7 -> `D_7`."""
    found: dict[str, dict[int, str]] = {}
    for name, rows in result.variants().items():
        layers = rows[0].spec.fuse_layer
        if len(layers) == 1:
            head, tail = name.split(str(layers[0]), 1)
            found.setdefault(f"{head}k{tail}", {})[layers[0]] = name
    return found


def _by_layer(figure: Any, result: SweepResult, table: SweepTable) -> None:
    """The mean over the first group of languages by layer; the bands are the intervals."""
    group = next(iter(table.groups.values()))
    figure.set_size_inches(7.5, 4.5)
    axes: Axes = figure.subplots()
    for (title, names), marker in zip(series(result).items(), "osD^vPX<>ph*" * 9, strict=False):
        layers = sorted(names)
        estimates = [table.line(names[layer]).means[group.name] for layer in layers]
        values = [_percent(estimate.value) for estimate in estimates]
        line = axes.plot(layers, values, marker=marker, ms=4, lw=1.3 if len(layers) > 1 else 0, label=title)
        low, high = ([_percent(getattr(e, end)) for e in estimates] for end in ("low", "high"))
        if len(layers) > 1:
            axes.fill_between(layers, low, high, color=line[0].get_color(), alpha=0.15, lw=0)
        else:
            axes.vlines(layers, low, high, color=line[0].get_color(), lw=1)
    base = table.line(BASELINE).means[group.name]
    axes.axhline(_percent(base.value), color="black", lw=1, ls="--", label="last layer")
    axes.axhspan(_percent(base.low), _percent(base.high), color="black", alpha=0.08, lw=0)
    axes.set(xlabel="layer k", ylabel=f"{table.title}, mean over {_groups_title(table)}")
    axes.set_xticks(range(result.num_layers + 1))
    axes.set_title(f"{result.task.name}, {result.tuning}: bands are 95 % bootstrap intervals", fontsize=9)
    axes.legend(fontsize=8)


def _by_language(figure: Any, result: SweepResult, table: SweepTable) -> None:
    """Languages by the baseline and D_1..D_L; the numbers stand in the cells."""
    names = next((list(names.values()) for title, names in series(result).items() if title == "D_k"), [])
    lines: list[Line] = [table.line(name) for name in (BASELINE, *names)]
    languages = list(lines[0].languages)
    figure.set_size_inches(1.5 + 0.5 * len(lines), 1.2 + 0.24 * len(languages))
    axes: Axes = figure.subplots()
    cells = [[_percent(line.languages[language].value) for line in lines] for language in languages]
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


def _groups_title(table: SweepTable) -> str:
    group = next(iter(table.groups.values()))
    return f"{len(group.languages)} {'target ' if group.name == 'targets' else ''}languages"


def _percent(value: float | None) -> float:
    return float("nan") if value is None else value
