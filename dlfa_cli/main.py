"""The command `dlfa`: its subcommands, and one place where errors become one sentence."""

import codecs
import io
import os
import sys
from typing import Annotated, Any

import typer

from dlfa_cli.analyze import analyze_app
from dlfa_cli.compare import compare
from dlfa_cli.data import data_app
from dlfa_cli.demo import demo
from dlfa_cli.doctor import doctor
from dlfa_cli.ends import exit_code, say_stopped
from dlfa_cli.evaluate import evaluate, report
from dlfa_cli.export import convert, export
from dlfa_cli.options import Command, CommandGroup
from dlfa_cli.predict import predict
from dlfa_cli.recipes import recipes_app
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
    "Train": (train, tune, sweep, train_language),
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
    """Run the command line; how it can end is told in `ends`."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a warning at every fork
    if "dlfa_adapters" not in sys.modules:
        os.environ["DLFA_MODELS_LATER"] = "1"  # see `start.loading`
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
