"""How far attention heads moved, as tables and as heat maps."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlfa_adapters.analysis.head_updates import HeadUpdates, UpdatesCompared, not_compared
from dlfa_adapters.analysis.head_updates_options import NORMALISERS, HeadUpdatesOptions
from dlfa_adapters.analysis.maps import draw_heads, head_rows
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.show import TextTable, in_form

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMS = {"max": ".2f", "relative": ".4f", "none": ".1e"}


def updates_tables(
    found: Sequence[HeadUpdates], compared: Sequence[UpdatesCompared], options: HeadUpdatesOptions
) -> list[TextTable]:
    """A map a model, and one of all pairs of models: rho, p, and where the two differ most."""
    shown = []
    for each in found:
        header = ["layer", "mean", *map(str, range(1, each.values.shape[1] + 1))]
        rows = head_rows(each.values, _FORMS[options.normalise])
        shown.append(TextTable(header, rows, f"{each.name} beside {each.before}: update of each head"))
    if not compared:
        return shown
    rows = []
    for pair in compared:
        by_layer = pair.differences.mean(1)
        top = int(np.abs(by_layer).argmax())
        rho_and_p = in_form(pair.rho, "+.3f"), in_form(pair.p_value, ".2g")
        most = f"{format(by_layer[top], f'+{_FORMS[options.normalise]}')} in layer {top + 1}"
        rows.append([f"{pair.b} − {pair.a}", str(pair.differences.size), *rho_and_p, most])
    return [*shown, TextTable(["", "heads", "rho", "p", "largest mean difference"], rows, "Do the same heads move?")]


def updates_notes(
    found: Sequence[HeadUpdates], compared: Sequence[UpdatesCompared], options: HeadUpdatesOptions
) -> list[str]:
    """What a reader of the tables has to know."""
    notes = [
        f"Update: mean absolute change of the {', '.join(options.weights)} weights of a head, "
        f"{NORMALISERS[options.normalise]}; layers and heads from 1.",
    ]
    if compared:
        notes.append(
            "rho: Spearman's, over heads; p: two-sided, as if heads were independent of each other, which those of a "
            "layer are not."
        )
    if apart := not_compared(found):
        pairs = ", ".join(f"{a} and {b}" for a, b in apart)
        notes.append(f"Not compared, since they have other numbers of layers or heads: {pairs}.")
    return notes


def plot_updates(found: Sequence[HeadUpdates], compared: Sequence[UpdatesCompared], path: str | Path) -> None:
    """Draw the map of each model, and below it how it differs from that of the first one.

    Args:
        found: One a model.
        compared: From `compare_updates`; those with the first model are drawn.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    first = {pair.b: pair for pair in compared if pair.a == found[0].name}
    rows = 2 if first else 1
    with plotted(path, (1 + 3.6 * len(found), 3.4 * rows)) as figure:
        axes: np.ndarray = figure.subplots(rows, len(found), squeeze=False)
        for column, each in enumerate(found):
            draw_heads(figure, axes[0, column], each.values, each.name)
            below: Axes | None = axes[1, column] if first else None
            if below is not None and (pair := first.get(each.name)) is not None:
                rho = "" if pair.rho is None else f", rho {pair.rho:+.2f}"
                draw_heads(figure, below, pair.differences, f"{pair.b} − {pair.a}{rho}", differences=True)
            elif below is not None:
                below.set_axis_off()
