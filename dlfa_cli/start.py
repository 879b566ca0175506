"""The moment at which a command loads PyTorch: behind everything that can be refused without it."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@contextlib.contextmanager
def loading(what: str = "Starting (loading PyTorch and adapters)") -> Iterator["Console"]:
    """Load the models, and say so; what a command needs of the library besides is imported in the block.

    Args:
        what: What the line on the screen says.

    Yields:
        The console on stderr.
    """
    from dlfa_cli.screen import errors_console, quiet_libraries

    screen = errors_console()
    with screen.status(what):
        import dlfa_adapters

        dlfa_adapters.load_models()
        quiet_libraries()
        yield screen
