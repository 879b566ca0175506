"""The command `dlfa`: its subcommands, and every way in which one can end, as an exit code and at most one line.

0 done; 1 a bug; 2 something the user can mend; 130 stopped with Ctrl-C. Tracebacks are for `dlfa --debug`.
"""

import codecs
import errno
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dlfa_cli.adapt import adapt
from dlfa_cli.analyze import analyze_app
from dlfa_cli.data import data_app
from dlfa_cli.demo import demo
from dlfa_cli.doctor import doctor
from dlfa_cli.evaluate import compare, evaluate
from dlfa_cli.options import Command, CommandGroup
from dlfa_cli.predict import convert, export, predict
from dlfa_cli.recipes import recipes_app
from dlfa_cli.report import report
from dlfa_cli.screen import visible
from dlfa_cli.sweep import sweep
from dlfa_cli.train import train
from dlfa_cli.train_language import train_language
from dlfa_cli.tune import tune

EXAMPLES = """Examples, to begin with:

`dlfa demo` learns from English sample sentences and tags other languages

`dlfa predict runs/ner-demo "Амина живёт в Кампале."` uses what it saved

`dlfa train ner --train train.conll --dev dev.conll` takes your own labels

`dlfa evaluate runs/ner-features --data test/ --save` scores every language

`dlfa report runs/ner-features` makes a page of it

`dlfa COMMAND --help` shows more of each command"""


class _Commands(CommandGroup):
    """The subcommands; Ctrl-C is one line, whichever release of typer it is."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise typer.Exit(say_stopped(stop)) from None


app = typer.Typer(
    cls=_Commands,
    help="Layer fusion for zero-shot cross-lingual transfer: labels in one language, text in many.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    epilog=EXAMPLES,
)
for _panel, _commands in {
    "Begin": (demo, doctor),
    "Train": (train, tune, sweep, adapt, train_language),
    "Use": (predict, export, convert),
    "Judge": (evaluate, compare, report),
}.items():
    for _command in _commands:
        app.command(cls=Command, rich_help_panel=_panel)(_command)
app.add_typer(analyze_app, name="analyze", rich_help_panel="Judge")
app.add_typer(data_app, name="data", rich_help_panel="Data and scripts")
app.add_typer(recipes_app, name="recipes", rich_help_panel="Data and scripts")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dlfa {version('dlfa-adapters')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if debug:
        os.environ["DLFA_DEBUG"] = "1"


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a warning at every fork
    if "dlfa_adapters" not in sys.modules:
        os.environ["DLFA_MODELS_LATER"] = "1"  # see `screen.loading`
    _take_any_character()
    # Threads that wait by spinning make small operations several times slower where another program wants the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.exit(exit_code(app))


def _take_any_character() -> None:
    """Write UTF-8 into files and pipes whatever the locale says, and escape what a terminal has no character for.

    The escapes are those of JSON, so that JSON stays what it is.
    """
    codecs.register_error("dlfa", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            as_said = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=stream.encoding if as_said else "utf-8", errors="dlfa")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Escapes for what an encoding does not have: two for a character beyond the first 65,536."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


def exit_code(command: Callable[[], object]) -> int:
    """Run a command, which ends in `SystemExit` or an error; its exit code, with what is to say about it on stderr."""
    try:
        try:
            command()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if sys.stdout is not None:  # as where a service runs us without one
            sys.stdout.flush()  # here and not when Python ends, which would print a traceback where the pipe is closed
        return code
    except KeyboardInterrupt as stop:
        return say_stopped(stop)
    except Exception as error:
        if os.environ.get("DLFA_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
            _give_up_stdout()
            if error.errno == errno.EPIPE:  # whoever reads our output has enough of it
                return 1
        return say(*_told(error))


def say_stopped(stop: KeyboardInterrupt) -> int:
    """Say that Ctrl-C came, with its hint, and give the exit code."""
    return say(f"stopped; {stop}." if str(stop) else "stopped.", 130)


def say(text: str, code: int) -> int:
    """Print one line on stderr, and give the code back."""
    typer.echo(f"dlfa: {visible(text)}", err=True)
    return code


def _told(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    name, first = type(error).__name__, (str(error).strip().splitlines() or [""])[0]
    errors = sys.modules.get("dlfa_adapters.ground.errors")
    if errors is not None and isinstance(error, errors.DLFAError):
        return str(error), 2
    files = sys.modules.get("dlfa_adapters.ground.files")
    if getattr(error, "errno", None) == errno.ENOSPC or (files is not None and files.is_full(error)):
        place = getattr(error, "filename", None)
        where = f"{place} cannot be written, the disk is full" if place else "the disk is full"
        return f"{where} ({first}); make room and call the same again.", 2
    if isinstance(error, OSError):
        places = ", ".join(repr(str(x)) for x in (error.filename, error.filename2) if x is not None)
        return ": ".join(filter(None, (error.strerror or str(error) or name, places))), 2
    if isinstance(error, MemoryError) or name == "OutOfMemoryError" or "can't allocate memory" in first:
        return (
            f"the memory is full ({first or name}); a smaller --micro-batch, --batch-size or --max-length, or "
            "--gradient-checkpointing, needs less."
        ), 2
    if name == "SafetensorError":
        return f"a file of weights cannot be read or written: {first}", 2
    if isinstance(error, ImportError):
        return f"{first}; `dlfa doctor` tells what is missing.", 2
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this is a bug in dlfa: {name}: {first} ({os.path.basename(place.filename)}, line {place.lineno}); please "
        "report it with what `dlfa --debug …` prints."
    ), 1


def _give_up_stdout() -> None:
    """Send what is still to be written to stdout nowhere: Python would try again when it ends, and fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
