"""What commands share on the terminal: progress bars on stderr, results on stdout."""

import contextlib
import unicodedata
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

ENTITY_COLOURS = {"PER": "bold green", "LOC": "bold cyan", "ORG": "bold magenta"}


def errors_console() -> "Console":
    """A console on stderr, so that stdout holds results alone."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def visible(text: str) -> str:
    """Text from data or a file name with its control characters escaped, which a terminal would obey."""
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") else char for char in text)


def plain(text: str) -> str:
    """Visible text for a table, which would take square brackets for markup."""
    from rich.markup import escape

    return escape(visible(text))


@contextlib.contextmanager
def progress_bars(console: "Console") -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each stage, as stages come.

    Yields:
        A function of a stage's name, how many steps were just done, and how many there are in all.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        stages: dict[str, TaskID] = {}

        def step(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], advance=done)

        yield step


def quiet_libraries() -> None:
    """Keep what Transformers and adapters log below warnings, and their own progress bars, off the screen."""
    import logging

    from datasets.utils import logging as datasets_logging
    from transformers.utils import logging as transformers_logging

    logging.getLogger("adapters").setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    datasets_logging.disable_progress_bar()
