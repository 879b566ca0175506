"""What commands share on the terminal: progress and what is loading on stderr, results on stdout."""

import contextlib
import gc
import json
import shlex
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from dlfa_adapters.runs import Run
    from dlfa_adapters.scores.show import TextTable

_NO_LIMIT = 10_000  # characters
_LINE_EVERY = 60  # seconds


def errors_console() -> "Console":
    """A console on stderr, so that stdout holds results alone."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def results_console() -> "Console":
    """A console on stdout; lines in a file or a pipe are as long as they need to be."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _NO_LIMIT
    return console


def visible(text: str) -> str:
    """Text from data or a file name with its control characters escaped, which a terminal would obey."""
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") else char for char in text)


def plain(text: str) -> str:
    """Visible text for a table, which would take square brackets for markup."""
    from rich.markup import escape

    return escape(visible(text))


def typed(path: object) -> str:
    """A path as it is to be typed in a shell."""
    return shlex.quote(str(path))


def predict_command(folder: object, pairs: bool | None) -> str:
    """The command that uses a run; the two texts of a pair have a TAB between them."""
    return f"dlfa predict {typed(folder)} " + ("$'…\\t…'" if pairs else '"…"')


@contextlib.contextmanager
def progress_bars(console: "Console") -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each stage, as stages come; lines where the console is a file or a pipe.

    A stage that goes on after its end is another one of the same name, as the training after an adaptation is.

    Yields:
        A function of a stage's name, how many steps were just done, and how many there are in all.
    """
    if not console.is_terminal:
        yield _ProgressLines(console)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        stages: dict[str, TaskID] = {}

        def step(stage: str, done: int, total: int) -> None:
            if stage not in stages or (done and bars.tasks[stages[stage]].finished):
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], advance=done)

        yield step


class _ProgressLines:
    """A line where a stage begins, one where a longer one ends, and one every minute in between."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage not in self._done or (done and self._done[stage] >= self._total[stage]):
            self._done[stage], self._began[stage], self._told[stage] = 0, now, now
            self._total[stage] = total
            self._tell(f"{stage} ...")
        self._done[stage] += done
        lasted = now - self._began[stage]
        ended = done > 0 and self._done[stage] >= total and lasted >= 1
        if ended or now - self._told[stage] >= _LINE_EVERY:
            self._told[stage] = now
            self._tell(f"{stage}: {self._done[stage]:,} of {total:,}, {lasted:.0f} s")

    def _tell(self, line: str) -> None:
        self._console.print(visible(line), markup=False, soft_wrap=True)


def quiet_libraries() -> None:
    """Keep what Transformers and adapters log below warnings, and their own progress bars, off the screen."""
    import logging

    from datasets.utils import logging as datasets_logging
    from transformers.utils import logging as transformers_logging

    logging.getLogger("adapters").setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    datasets_logging.disable_progress_bar()


@contextlib.contextmanager
def loading(what: str = "Starting (loading PyTorch and adapters)") -> Iterator["Console"]:
    """Load PyTorch and the models, and say so: behind everything that can be refused without them.

    What a command needs of the library besides is imported in the block.

    Yields:
        The console on stderr.
    """
    from dlfa_adapters.ground.environment import uncollected

    screen = errors_console()
    own_process = "torch" not in sys.modules
    with screen.status(what), uncollected():
        import dlfa_adapters

        dlfa_adapters.load_models()
        quiet_libraries()
        yield screen
    if own_process:
        gc.freeze()  # nor is garbage looked for there later, and when Python ends


@contextlib.contextmanager
def stopped_with(hint: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C in this block end with a hint what to type, made when it is needed; an empty one says nothing."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*filter(None, [hint()])) from None


def print_lines(console: "Console", lines: Iterable[str]) -> None:
    """Print text as it is, and unbroken."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def print_table(console: "Console", header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A table whose first column is text and whose others are numbers, which are never broken over two lines."""
    from rich.table import Table

    longest = [max(len(row[number]) for row in [header, *rows]) for number in range(len(header))]
    gap = 2 if sum(longest) + 2 * len(longest) <= console.width else 1
    table = Table(title=plain(title) or None, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    table.title_style, table.title_justify = "bold", "left"
    for number, name in enumerate(header):
        table.add_column(plain(name), justify="right" if number else "left", no_wrap=number > 0, header_style="dim")
    for row in rows:
        table.add_row(*map(plain, row))
    console.print(table)
    console.print()


def show_tables(tables: Sequence["TextTable"], notes: Sequence[str]) -> None:
    """Print tables, and what a reader has to know about them."""
    console = results_console()
    for table in tables:
        print_table(console, table.header, table.rows, table.title)
    for note in notes:
        console.print(visible(note), markup=False)


def show_json(record: Any) -> None:
    """Print a record for programs; what is no number is no JSON, and a bug."""
    typer.echo(json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False))


def saved(folder: Path, training: dict[str, Any], trained: bool) -> str:
    """Where something is, and whether it was trained now."""
    if trained:
        return f"Saved in {folder} after {training['seconds']:.0f} s."
    return f"{folder} had been trained to its end; nothing was left to do."


def show_training(run: "Run", trained: bool = True) -> None:
    """Print the score on dev and what to do next; `trained`: whether it was trained now."""
    from dlfa_adapters.predict.load import takes_pairs

    training, metrics = run.config["training"], run.config["metrics"]
    scores = metrics["dev"] if isinstance(metrics["dev"], dict) else {"all": metrics["dev"]}
    for language, score in scores.items():
        if score is not None:
            typer.echo(f"{metrics['name']} on {language} dev: {score:.2f} ({training['best']})")
    typer.echo(saved(run.folder, training, trained))
    if nothing := training.get("found_nothing"):
        typer.echo(nothing)
        return
    if advice := training.get("advice"):
        typer.echo(advice)
    typer.echo("Use it on any language:\n")
    typer.echo(f"  {predict_command(run.folder, takes_pairs(run))}\n  dlfa evaluate {typed(run.folder)} --data DATA")
