"""Other packages: imported on first use, or missing; their versions, and what they log."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

SUFFIXES = (".svg", ".png", ".pdf")
"""Kinds of files that plots are drawn into."""

_RECORDED = ("dlfa-adapters", "adapters", "transformers", "torch", "datasets", "peft", "tokenizers")


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562): what is wrong with a command can be said before PyTorch loads.

    Args:
        package: Its `__name__`.
        modules: Each public name, and the module of the package that has it; `module:name` where it is another there.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = modules[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), there or name)

    return get


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


def versions() -> dict[str, str]:
    """Versions of the packages that matter for repeating a run."""
    from importlib import metadata  # which whoever imports a name on first use need not wait for

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed"

    return {package: version(package) for package in _RECORDED}


@contextmanager
def without_lines(logger: str, *beginnings: str) -> Iterator[None]:
    """Keep some lines of a library off its log for a while; whatever else it says stays.

    Args:
        logger: Name of the library's logger.
        *beginnings: How the lines begin.
    """

    def stays(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(beginnings)

    log = logging.getLogger(logger)
    log.addFilter(stays)
    try:
        yield
    finally:
        log.removeFilter(stays)
