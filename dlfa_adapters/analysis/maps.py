"""Maps of numbers, layers by heads or models by tasks: as rows of a table, and drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def head_rows(values: np.ndarray, form: str = ".2f") -> list[list[str]]:
    """A row a layer, the lowest first: its number, the mean over its heads, and the number of each head."""
    return [[str(layer), *(format(each, form) for each in (row.mean(), *row))] for layer, row in enumerate(values, 1)]


def draw_heads(figure: "Figure", axes: "Axes", values: np.ndarray, title: str, *, differences: bool = False) -> None:
    """Draw a map of heads, (layers, heads), layer 1 at the bottom.

    With `differences` 0 is the middle: blue above it and red below.
    """
    layers, heads = values.shape
    draw_map(figure, axes, values[::-1], [str(k) for k in range(layers, 0, -1)], range(1, heads + 1), differences)
    axes.set(xlabel="head", ylabel="layer")
    axes.set_title(title, fontsize=8)


def draw_map(
    figure: "Figure",
    axes: "Axes",
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[Any],
    differences: bool = False,
    form: str = "",
) -> None:
    """Draw a map, (rows, columns), with its scale; NaN is left white.

    `differences` as in `draw_heads`; `form` is how the numbers stand in their cells, "" for none.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    scale: dict[str, Any] = {"cmap": "RdBu", "vmin": -largest, "vmax": largest} if differences else {"cmap": "viridis"}
    image = axes.imshow(values, aspect="auto", **scale)
    axes.set_xticks(range(len(columns)), [str(column) for column in columns], fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    for (row, column), value in np.ndenumerate(values) if form else ():
        if not np.isnan(value):
            colour = "w" if differences and abs(value) > 0.6 * largest else "k"
            axes.text(column, row, format(value, form), ha="center", va="center", size=7, color=colour)
    figure.colorbar(image, ax=axes, fraction=0.05)
