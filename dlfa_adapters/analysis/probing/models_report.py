"""What fine-tuning did for other tasks, as tables and as a heat map, models by tasks."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlfa_adapters.analysis.maps import draw_map
from dlfa_adapters.analysis.probing.learn import edge_note
from dlfa_adapters.analysis.probing.models import ModelProbing, ProbingCell
from dlfa_adapters.analysis.probing.options import SCORES
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.intervals import few_items
from dlfa_adapters.scores.show import INTERVAL, TextTable, ends, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def probing_tables(found: ModelProbing) -> list[TextTable]:
    """For each layer the differences, models by tasks as in Table 3 of the paper, and the scores that they are of."""
    shown = []
    for layer in found.layers:
        cells = {model: [found.cell(model, task, layer) for task in found.tasks] for model in found.models}
        header = ["", *(part for task in found.tasks for part in (task, INTERVAL))]
        rows = [[model, *(part for cell in row for part in _difference(cell))] for model, row in cells.items()]
        shown.append(TextTable(header, rows, f"Layer {layer}: ceiling − probe, points of {found.score}"))
        probes = [percent(cell.difference.a) for cell in next(iter(cells.values()))]
        scores = [[model, *(percent(cell.difference.b) for cell in row)] for model, row in cells.items()]
        shown.append(
            TextTable(
                ["", *found.tasks], [[f"probe: {found.before}", *probes], *scores], f"Layer {layer}: {found.score}, %"
            )
        )
    return shown


def probing_notes(found: ModelProbing) -> list[str]:
    """What a reader of the tables has to know."""
    data = "; ".join(
        f"{task}: {about['scored_on']} (" + ", ".join(f"{n:,} {part}" for part, n in about["sizes"].items()) + ")"
        for task, about in found.tasks.items()
    )
    notes = [
        f"probe: a linear classifier on the frozen {found.before}; ceiling: one on the frozen encoder of the model. "
        "Above 0: what the model learned helps the task.",
        f"{found.score}: {SCORES[found.score]}, of all languages put together. Scored: {data}.",
        f"Intervals: paired bootstrap over items, {found.resamples:,} resamples, "
        + ("all differences at once." if len(found.cells) > 1 else "of this difference."),
    ]
    if any(cell.is_own for cell in found.cells):
        notes.append("In brackets: the task that the model was fine-tuned on, which the paper leaves out.")
    notes += [note for name, edges in found.edges.items() for note in edge_note(name, edges)]
    scored = {task: about["sizes"].get("test", about["sizes"]["dev"]) for task, about in found.tasks.items()}
    return [*notes, *few_items(scored.items())]


def plot_probing(found: ModelProbing, path: str | Path) -> None:
    """Draw the differences, models by tasks, a map a layer; a model's own task is left out.

    Args:
        found: The report.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    tasks, models = list(found.tasks), found.models
    width = 2.5 + 0.7 * len(tasks)
    with plotted(path, (width * len(found.layers), 1.5 + 0.4 * len(models))) as figure:
        grid: np.ndarray = figure.subplots(1, len(found.layers), squeeze=False)
        for column, layer in enumerate(found.layers):
            axes: Axes = grid[0, column]
            own = [[found.cell(model, task, layer).is_own for task in tasks] for model in models]
            values = np.where(own, np.nan, found.matrix(layer))
            draw_map(figure, axes, values, models, tasks, differences=True, form="+.1f")
            axes.set_xlabel("probing task")
            axes.set_title(f"layer {layer}: ceiling − probe, {found.score}", fontsize=8)


def _difference(cell: ProbingCell) -> tuple[str, str]:
    text = percent(cell.difference.difference, "+")
    return f"({text})" if cell.is_own else text, ends(*cell.difference.ends, "+")
