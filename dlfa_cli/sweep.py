"""`dlfa sweep`: the baseline, every fuse layer and what else is requested, several seeds each, in one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.from_dataclasses import HEAD, MACHINE, given_options, with_options
from dlfa_cli.options import Format, Model, TagColumn, WordColumn, language_list, sources

if TYPE_CHECKING:
    from rich.console import Console

    from dlfa_adapters.sweeps import Prepared, Sweep

_DATA = "Data"


@with_options("FROZEN_SWEEP", "FINETUNED_SWEEP", without=("seed",))
def sweep(
    context: typer.Context,
    task: Annotated[
        str,
        typer.Argument(help="ner, pos, xnli, pawsx, topic, sentiment, marc; or any name, with the labels of the data."),
    ],
    train_source: Annotated[
        list[str] | None,
        typer.Option(
            "--train", help="A file, a folder, hub:NAME or samples:NAME; default: samples.", rich_help_panel=_DATA
        ),
    ] = None,
    dev_source: Annotated[
        list[str] | None, typer.Option("--dev", help="Dev data, in the same languages.", rich_help_panel=_DATA)
    ] = None,
    target_source: Annotated[
        str | None,
        typer.Option("--data", "-d", help="Languages to score; default: those of --train.", rich_help_panel=_DATA),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of --data: test, dev.", rich_help_panel=_DATA)] = "test",
    languages: Annotated[
        str | None, typer.Option(help="Only these of --data, e.g. de,ru,sw.", rich_help_panel=_DATA)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Items a language to score.", rich_help_panel=_DATA)] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            "-l",
            help="Language of train and dev, or several: en,de; default: en, or by file name.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Where a known task's data have other labels: `data`, `task`.", rich_help_panel=_DATA),
    ] = None,
    model: Model = "offline",
    tuning: Annotated[
        str, typer.Option("--tuning", "-t", help="features: the encoder is frozen; full, lora, ...: one a head.")
    ] = "features",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder; default: runs/TASK-sweep.")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Replace another sweep in the folder.")] = False,
    layers: Annotated[
        str | None,
        typer.Option("--layers", "-k", help="Which D_k, e.g. 4-9 or 1,7; default: all.", rich_help_panel=HEAD),
    ] = None,
    extra: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Besides, e.g. gates,branches:7,nested:10-7-4: gates, branches, norms, init, reductions, nested, "
            "layers, mix, concat, controls; or any fusion and values of its options, e.g. dlfa.reduction=2/8.",
            rich_help_panel=HEAD,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each head.", rich_help_panel=HEAD)] = 3,
    seed: Annotated[int, typer.Option(help="The first seed.", rich_help_panel=HEAD)] = 0,
    state_budget: Annotated[
        str, typer.Option(help="Most disk for hidden states; beyond it they are not kept.", rich_help_panel=MACHINE)
    ] = "20GB",
    at_once: Annotated[
        int | None, typer.Option(help="Fine-tuned models side by side; default: as fit.", rich_help_panel=MACHINE)
    ] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    plots: Annotated[
        bool | None, typer.Option("--plots/--no-plots", help="Default: if matplotlib is installed.")
    ] = None,
    by_language: Annotated[bool, typer.Option("--by-language", help="Print the table of languages too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print sweep.json on stdout.")] = False,
) -> None:
    """Train the last layer alone and D_1, D_2, ... side by side, and compare them over languages.

    Prints for each head the score on source dev, the mean over the target languages with the spread over seeds and a
    bootstrap interval, and the differences to `last` and to the control. A sweep that was cut short goes on when it is
    called again; with more heads or seeds only those are trained. Examples:

    `dlfa sweep ner`

    `dlfa sweep ner --train panx/ --seeds 5 --epochs 4 --within 2 --with gates,controls --out runs/panx`

    `dlfa sweep xnli --train train-en.tsv --dev dev-en.tsv --data xnli/ --languages de,ru,sw`

    `dlfa sweep pos --tuning full --train udpos/ --seeds 2`
    """
    given = {
        "train_data": sources(train_source, "--train"), "dev_data": sources(dev_source, "--dev"),
        "target_data": target_source, "split": split,
        "languages": language_list(languages), "limit": limit, "language": language,
        "labels": labels, "model": model, "tuning": tuning, "out": out, "restart": restart,
        "extra": extra.split(",") if extra else (), "seeds": seeds, "seed": seed, **given_options(context),
        "at_once": at_once, "plots": plots,
        "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    done = _run(task, layers, state_budget, given)
    if done is None:
        return
    if as_json:
        typer.echo((done.folder / "sweep.json").read_text("utf-8"), nl=False)
    else:
        show(done, by_language)


def _run(task: str, layers: str | None, state_budget: str, given: dict[str, Any]) -> "Sweep | None":
    """Sweep; None in all processes but the main one."""
    from dlfa_adapters.ground.environment import see_one_gpu
    from dlfa_adapters.ground.files import parse_bytes
    from dlfa_adapters.learning.ranges import parse_numbers
    from dlfa_adapters.sweeps import check_sweep
    from dlfa_cli.screen import loading, print_lines, progress_bars

    chosen = parse_numbers(layers) if layers else None
    budget = parse_bytes(state_budget)
    check_sweep(task, **given)
    see_one_gpu()
    with loading() as screen:
        from dlfa_adapters.ground.environment import is_main
        from dlfa_adapters.sweeps import run_sweep

    screen.quiet = not is_main()
    with progress_bars(screen) as progress:
        done = run_sweep(
            task,
            layers=chosen,
            state_budget=budget,
            on_start=lambda prepared: announce(screen, prepared),
            note=lambda text: print_lines(screen, [text]),
            progress=progress,
            **given,
        )
    return done if is_main() else None


def announce(screen: "Console", prepared: "Prepared") -> None:
    """Say on stderr what is going to be trained."""
    from dlfa_adapters.learning.sources import in_a_line
    from dlfa_cli.screen import print_lines

    steps, names = prepared.settings.steps, list(dict.fromkeys(spec.name for spec in prepared.specs))
    items = sum(len(examples.gold) for examples in prepared.targets.values())
    lines = [
        f"Encoder: {prepared.encoder.origin}",
        f"Tuning: {prepared.tuning} ({prepared.tuning.summary})",
        f"Heads: {len(prepared.specs)}, {len(prepared.specs) // len(names)} seeds of {', '.join(names)}",
        f"Data: {len(prepared.train.gold):,} items in {', '.join(prepared.sources)}; dev {len(prepared.dev.gold):,}; "
        f"scored: {items:,} in {', '.join(prepared.targets)}",
        *in_a_line(prepared.data["train"].get("sources")),
        *(f"Read: {line}" for line in prepared.taken),
        f"Steps: {steps.epochs} epochs, batch {steps.batch_size}, {prepared.rates_in_words()}; kept: "
        + (f"the first epoch within {steps.within:g} points of the best" if steps.within else "the best epoch")
        + " on dev",
    ]
    print_lines(screen, lines)


def show(done: "Sweep", by_language: bool) -> None:
    """Print the table, what to know about it, and what to do next."""
    from dlfa_adapters.scores.show import INTERVAL
    from dlfa_adapters.sweeps.show import group_table, language_table, sweep_notes
    from dlfa_cli.screen import predict_command, results_console, typed

    console, table = results_console(), done.table
    best = done.result.best().spec.name
    shown = group_table(table, table.group.name)
    header, rows = shown.header, shown.rows
    if console.width < 110:  # without the intervals of the means, which sweep.md has
        interval = header.index(INTERVAL)
        header, *rows = ([*row[:interval], *row[interval + 1 :]] for row in (header, *rows))
    _print(console, header, rows, bold=best)
    if by_language:
        for start in range(0, len(table.lines), 13):
            shown = language_table(table, table.lines[start : start + 13])
            _print(console, shown.header, shown.rows)
    for note in sweep_notes(done.result, table):
        console.print(f"{note}.", markup=False)
    files = ", ".join(["sweep.json", "sweep.md", *(path.name for path in done.plots)])
    console.print(f"\nSaved in {done.folder}: {files}", markup=False, soft_wrap=True)
    if done.best is not None:
        folder = done.best.folder
        commands = f"  {predict_command(folder, done.result.task.pair)}\n  dlfa evaluate {typed(folder)} --data DATA"
        console.print(f"The best head:\n\n{commands}", markup=False, soft_wrap=True)


def _print(console: "Console", header: list[str], rows: list[list[str]], bold: str | None = None) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, title in enumerate(header):
        table.add_column(
            title.replace(" ", "\n", 1) if len(title) > 8 else title,
            justify="left" if i == 0 else "right",
            no_wrap=True,
        )
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == bold else "")
    console.print(table)
