"""How much each attention head tells, as tables and as heat maps; and saved ones read again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlfa_adapters.analysis.maps import draw_heads, head_rows
from dlfa_adapters.analysis.probing.heads import HeadProbing, named
from dlfa_adapters.analysis.probing.learn import edge_note
from dlfa_adapters.analysis.probing.options import SCORES
from dlfa_adapters.analysis.probing.overlap import TopOverlap, order_of
from dlfa_adapters.ground.errors import RunError, told_if_damaged
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.show import TextTable, in_form

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEST = 10


def read_probings(path: str | Path) -> list[HeadProbing]:
    """What `dlfa analyze head-probing --json` printed.

    Raises:
        RunError: If the file is none of that kind.
    """
    path = Path(path)
    with told_if_damaged(path, "give what dlfa analyze head-probing --json printed"):
        found = [HeadProbing.from_dict(each) for each in json.loads(path.read_text("utf-8"))["models"]]
        if any(each.scores.ndim != 2 for each in found):
            raise RunError(f"{path} has no scores of heads; give what dlfa analyze head-probing --json printed.")
    return found


def head_tables(found: Sequence[HeadProbing], overlaps: Sequence[TopOverlap]) -> list[TextTable]:
    """The map of each model, its best heads, and how many of the best heads every two have in common."""
    shown = []
    for name, each in named(found):
        header = ["layer", "mean", *map(str, range(1, each.scores.shape[1] + 1))]
        shown.append(TextTable(header, head_rows(each.scores, ".1f"), f"{name}: {each.task}, {each.scored_on}"))
        heads = each.scores.shape[1]
        best = [
            [f"{at // heads + 1}.{at % heads + 1}", f"{each.scores.flat[at]:.1f}", f"{each.dev.flat[at]:.1f}"]
            for at in order_of(each.scores)[:_BEST]
        ]
        shown.append(TextTable(["layer.head", each.score, "dev"], best, f"{name}: the best heads"))
    rows = [
        [
            f"{x.a}, {x.b}",
            str(x.k),
            str(x.overlap),
            f"{x.chance:.1f}",
            in_form(x.rho, "+.2f"),
            in_form(x.p_value, ".2g"),
        ]
        for x in overlaps
    ]
    header = ["", "K", "in both", "by chance", "rho", "p"]
    return [*shown, *([TextTable(header, rows, "The K best heads of two")] if rows else [])]


def head_notes(found: Sequence[HeadProbing], overlaps: Sequence[TopOverlap]) -> list[str]:
    """What a reader of the tables has to know."""
    first = found[0]
    sizes = ", ".join(f"{number:,} {part}" for part, number in first.sizes.items())
    scores = dict.fromkeys(each.score for each in found)
    notes = [
        f"A linear classifier on the output of one head alone, before the output projection; items: {sizes}.",
        *(f"{score}: {SCORES[score]}, in %, of all languages put together." for score in scores if score in SCORES),
        "dev: the task's metric on dev, by which epoch and rate of each probe are chosen. Layers and heads from 1.",
    ]
    notes += [note for name, each in named(found) for note in edge_note(name, each.edges)]
    if len(found) > 1 and len({(each.task, each.scored_on, tuple(each.sizes.items())) for each in found}) > 1:
        notes.append("The models were not all probed on the same data; the titles say which.")
    if overlaps:
        notes.append(
            "in both: heads among the K best of both; by chance: K² / heads; rho: Spearman's over those in both, with "
            "a two-sided p."
        )
    return notes


def plot_heads(found: Sequence[HeadProbing], path: str | Path) -> None:
    """Draw the map of each model, as Figures A1 to A4 of the paper, all on their own scale.

    Args:
        found: One a model.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (1 + 3.6 * len(found), 3.6)) as figure:
        grid: np.ndarray = figure.subplots(1, len(found), squeeze=False)
        for column, (name, each) in enumerate(named(found)):
            axes: Axes = grid[0, column]
            draw_heads(figure, axes, each.scores, f"{name}\n{each.task}, {each.scored_on}: {each.score}, %")
