"""The command `dlfa`: its subcommands, and one place where errors become one sentence."""

import io
import os
import sys
from typing import Annotated

import typer

from dlfa_cli.compare import compare
from dlfa_cli.data import data_app
from dlfa_cli.demo import demo
from dlfa_cli.evaluate import evaluate
from dlfa_cli.predict import predict
from dlfa_cli.screen import visible
from dlfa_cli.train import train
from dlfa_cli.tune import tune

app = typer.Typer(
    help="Layer fusion for zero-shot cross-lingual transfer: labels in one language, text in many.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    epilog='Start with `dlfa demo`; then `dlfa predict runs/ner-demo "Амина живёт в Кампале."`',
)
app.command()(demo)
app.command()(train)
app.command()(tune)
app.command()(predict)
app.command()(evaluate)
app.command()(compare)
app.add_typer(data_app, name="data")


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
    """Run the command line. Exit codes: 0 done, 1 a bug, 2 something the user can mend (one sentence on stderr)."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a warning at every fork
    _take_any_character()
    # Threads that wait by spinning make small operations several times slower where another program wants the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except Exception as error:
        if os.environ.get("DLFA_DEBUG") or not _is_users(error):
            raise
        typer.echo(f"dlfa: {visible(str(error))}", err=True)
        sys.exit(2)


def _take_any_character() -> None:
    """Write UTF-8 into files and pipes whatever the locale says, and escape what a terminal has no character for."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            as_said = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=stream.encoding if as_said else "utf-8", errors="backslashreplace")


def _is_users(error: Exception) -> bool:
    """Whether the error is a user's to mend: one of ours, or the file system's."""
    if isinstance(error, OSError):
        return True
    errors = sys.modules.get("dlfa_adapters.errors")
    return errors is not None and isinstance(error, errors.DLFAError)
