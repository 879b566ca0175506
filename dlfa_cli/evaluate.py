"""`dlfa evaluate`: score the model of a run on data in many languages; `dlfa report`: a page of that, or of a sweep."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlfa_cli.options import Format, TagColumn, WordColumn

if TYPE_CHECKING:
    from rich.console import Console

    from dlfa_adapters.scores.show import TextTable

RESAMPLES, MOST_RESAMPLES = 1000, 1_000_000
Split = Annotated[str, typer.Option(help="`train`, `dev` or `test`.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Take the first N items of each language.")]
Resamples = Annotated[int, typer.Option(min=1, max=MOST_RESAMPLES, help="Bootstrap resamples.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")],
    data: Annotated[str, typer.Option("--data", "-d", help="A file, a folder, `samples:NAME` or `hub:NAME`.")],
    task: Annotated[str | None, typer.Option(help="What the data are for, if not for the run's own task.")] = None,
    split: Split = "test",
    languages: Annotated[
        str | None, typer.Option("--languages", "-l", help="Such as `de,sw`; for a single file its language.")
    ] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    limit: Limit = None,
    language_adapter: Annotated[
        list[str] | None,
        typer.Option(help="LANGUAGE=FOLDER: a language's own adapter (runs of --tuning stack); repeatable."),
    ] = None,
    precision: Annotated[str, typer.Option(help="`fp32`, or `bf16`: half the memory.")] = "fp32",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile: pays for much data.")] = False,
    resamples: Resamples = RESAMPLES,
    seed: Seed = 0,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the report to this file as Markdown.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Save report and predictions beside the run.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save report and predictions here.")] = None,
) -> None:
    """Score every language: each word or text once, with bootstrap intervals, and the means over target languages.

    The labels are the run's, whatever the files hold. Examples:

    `dlfa evaluate runs/ner-demo --data samples:ner`

    `dlfa evaluate runs/ner-demo --data download/panx --split dev --languages de,sw,zh --save`

    `dlfa evaluate runs/ner-demo --data mine.tsv --languages sw --json > report.json`

    `dlfa evaluate runs/ner-stack -d samples:ner --language-adapter de=adapters/de --language-adapter ru=adapters/ru`
    """
    from dlfa_adapters.data.reading import Reading, check_source
    from dlfa_adapters.predict.load import check_has_language, check_precision, task_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, progress_bars, typed

    task_of(read := read_run(run))
    Reading(format, word_column, tag_column).check([data])
    check_source(data, split, format)
    check_precision(precision)
    adapters = adapters_by_language(language_adapter or [])
    folder = out
    if out is not None or save:
        from dlfa_adapters.scores.saved import check_evaluation_place, default_folder, save_evaluation

        folder = out or default_folder(run, data, split)
        check_evaluation_place(folder)
    if markdown is not None:
        check_markdown(markdown)
    if adapters:
        check_has_language(read)
    with loading() as screen:
        from dlfa_adapters.ground.files import write_text
        from dlfa_adapters.predict.run import predict_run
        from dlfa_adapters.scores.evaluate import build_report
        from dlfa_adapters.scores.show import markdown as as_markdown
        from dlfa_adapters.scores.show import notes, tables

    with progress_bars(screen) as progress:
        predictions = predict_run(
            read,
            data,
            task=task,
            split=split,
            languages=language_list(languages),
            format=format,
            word_column=word_column,
            tag_column=tag_column,
            limit=limit,
            language_adapters=adapters,
            precision=precision,
            compile=compile,
            progress=progress,
        )
        report = build_report(predictions, resamples=resamples, seed=seed, progress=progress)
    for line in predictions.about["data"]["read"]:
        screen.print(f"Read: {line}", markup=False, soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        show(tables(report), notes(report))
    if markdown is not None:
        write_text(markdown, as_markdown(report))
    if folder is not None:
        save_evaluation(folder, predictions, report)
        page = f"dlfa report {typed(folder if out else run)}"
        screen.print(f"Saved in {folder}; a page of it: {page}", markup=False, soft_wrap=True)


def report(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, a saved evaluation, or a sweep.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; default: RUN.html beside it.")] = None,
) -> None:
    """Write an HTML page: scores by language, mistakes, examples, configuration. It loads nothing and can be sent on.

    A run must have been evaluated with `--save`. Examples:

    `dlfa report runs/ner-demo`

    `dlfa report runs/ner-demo-evaluated/panx-dev --out panx.html`

    `dlfa report runs/ner-sweep`
    """
    from dlfa_adapters.runs import read_run
    from dlfa_adapters.scores.saved import is_evaluation
    from dlfa_cli.screen import errors_console

    sweep = source.name == "sweep.json" or any((source / name).is_file() for name in ("sweep.json", "plan.json"))
    if not sweep and not is_evaluation(source):
        read_run(source)
    with errors_console().status("Writing the report"):
        from dlfa_adapters.report import write_report

        file = write_report(source, out)
    typer.echo(file)


def check_markdown(path: Path) -> None:
    """Refuse a place where no file can be written, before the work.

    Raises:
        ConfigError: If so.
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.folders import check_writable

    check_writable(path)
    if path.is_dir():
        raise ConfigError(f"--markdown expects a file, but {path} is a folder.")
    if not path.parent.exists():
        raise ConfigError(f"{path} cannot be written: there is no folder {path.parent}; make it first.")


def adapters_by_language(given: Sequence[str]) -> dict[str, str]:
    """The folders in `de=adapters/de`, by language.

    Raises:
        ConfigError: If one is not of this form, or a language comes twice.
    """
    from dlfa_adapters.ground.errors import ConfigError

    folders: dict[str, str] = {}
    for text in given:
        language, _, folder = text.partition("=")
        if not language or not folder:
            raise ConfigError(f"--language-adapter expects LANGUAGE=FOLDER, got {text!r}; type e.g. de=adapters/de.")
        if language in folders:
            raise ConfigError(f"--language-adapter names {language} twice: {folders[language]} and {folder}.")
        folders[language] = folder
    return folders


def language_list(text: str | None) -> list[str] | None:
    """The codes in `de,sw`; None where there are none."""
    return [code for part in (text or "").split(",") if (code := part.strip())] or None


def print_table(console: "Console", header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A table whose first column is text and whose others are numbers, which are never broken over two lines."""
    from rich.table import Table

    from dlfa_cli.screen import plain

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


def show(tables: Sequence["TextTable"], notes: Sequence[str]) -> None:
    """Print tables, and what a reader has to know about them."""
    from dlfa_cli.screen import results_console, visible

    console = results_console()
    for table in tables:
        print_table(console, table.header, table.rows, table.title)
    for note in notes:
        console.print(visible(note), markup=False)
