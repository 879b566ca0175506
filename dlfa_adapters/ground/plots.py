"""Whether plots can be drawn, and where."""

from importlib.util import find_spec
from pathlib import Path

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

SUFFIXES = (".svg", ".png", ".pdf")


def check_matplotlib(without: str = "--no-plots") -> None:
    """Refuse to plot where matplotlib is not installed.

    Args:
        without: What to do to have no plot.

    Raises:
        MissingExtraError: If so.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtraError(f"Plots need matplotlib; type pip install 'dlfa-adapters[plots]', or {without}.")


def check_plot(path: Path) -> None:
    """Refuse a plot that cannot be drawn, before the work.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If it is no file of a kind of `SUFFIXES`.
    """
    check_matplotlib("leave --plot out")
    if path.suffix not in SUFFIXES or path.is_dir():
        raise ConfigError(f"--plot expects a file that ends in {', '.join(SUFFIXES)}, got {path}; type cosine.svg.")
