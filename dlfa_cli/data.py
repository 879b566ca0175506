"""`dlfa data check FILE`: what is in a data file, and everything that is wrong or odd in it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlfa_cli.options import Command, CommandGroup, Format, TagColumn, WordColumn

if TYPE_CHECKING:
    from dlfa_adapters.data.check import DataCheck

data_app = typer.Typer(cls=CommandGroup, no_args_is_help=True)

_MOST_LABELS = 25


@data_app.callback()
def _group() -> None:
    """Look at data before using it. Example: `dlfa data check train-en.tsv`."""


@data_app.command("check", cls=Command)
def check(
    path: Annotated[Path, typer.Argument(help="A data file; its format is found from its content and name.")],
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a file to its end and tell counts, labels, oddities and every problem with its line.

    Examples: `dlfa data check train-en.tsv`, `dlfa data check en_ewt-ud-dev.conllu --json`.
    """
    from dlfa_cli.screen import errors_console, plain

    with errors_console().status(f"Reading {plain(str(path))}"):
        from dlfa_adapters.data.check import check_data

        result = check_data(path, format, word_column=word_column, tag_column=tag_column)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(result)
    result.raise_for_errors()


def _show(result: "DataCheck") -> None:
    from rich.table import Table

    from dlfa_adapters.kinds import kind_named
    from dlfa_cli.screen import plain, results_console

    console = results_console()
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_row("file", plain(result.path))
    facts.add_row("format", result.format + (f", tags in {result.scheme}" if result.scheme else ""))
    facts.add_row("read as", plain(result.taken))
    facts.add_row(result.unit, f"{result.items:,}")
    facts.add_row("words", f"{result.words:,}")
    if result.entities:
        facts.add_row("entities", plain(", ".join(f"{kind} {count:,}" for kind, count in result.entities.items())))
    if result.metric is not None:
        facts.add_row("scored by", kind_named(result.kind).metrics_in_words.get(result.metric, result.metric))
    if result.dropped:
        facts.add_row("left out", ", ".join(f"{count:,} {reason}" for reason, count in result.dropped.items()))
    console.print(facts)
    for kind, found in {"": result.labels, **result.also}.items():
        if found:
            name = f"label for {kind}" if kind else "label"
            labels = Table(name, "count", title=_count(len(found), "label"), title_justify="left")
            labels.columns[1].justify = "right"
            for label, count in list(found.items())[:_MOST_LABELS]:
                labels.add_row(plain(label), f"{count:,}")
            if len(found) > _MOST_LABELS:
                labels.add_row(f"and {len(found) - _MOST_LABELS} more", "")
            console.print(labels)
    if result.problems:
        table = Table("line", "", "problem", title=_count(len(result.problems), "problem"), title_justify="left")
        table.columns[0].justify = "right"
        for problem in result.problems:
            colour = "red" if problem.level == "error" else "yellow"
            line = "" if problem.line is None else str(problem.line)
            table.add_row(line, f"[{colour}]{problem.level}[/]", plain(problem.message))
        console.print(table)
    else:
        console.print("no problems")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
