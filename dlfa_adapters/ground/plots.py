"""Plots: whether one can be drawn, known before the work; and the file that it becomes."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.ground.folders import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
"""Kinds of files that plots are drawn into."""


def check_matplotlib(without: str = "--no-plots") -> None:
    """Refuse to plot where matplotlib is not installed; `without` says how to have no plot.

    Raises:
        MissingExtraError: If so.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtraError(f"Plots need matplotlib; type pip install 'dlfa-adapters[plots]', or {without}.")


def check_plot(path: Path) -> None:
    """Refuse a plot that cannot be drawn, before the work.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If it is no file of a kind of `SUFFIXES`, or cannot be written.
    """
    check_matplotlib("leave --plot out")
    if path.suffix not in SUFFIXES or path.is_dir():
        raise ConfigError(f"--plot expects a file that ends in {', '.join(SUFFIXES)}, got {path}; type cosine.svg.")
    check_writable(path)


@contextmanager
def plotted(path: str | Path, size: tuple[float, float]) -> Iterator["Figure"]:
    """A figure to draw into, which is a file afterwards; where drawing fails, there is none.

    Args:
        path: The file; its end says which kind.
        size: Width and height in inches.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    path = Path(path)
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    yield figure
    with write_whole(path) as draft:
        figure.savefig(draft, format=path.suffix[1:])
