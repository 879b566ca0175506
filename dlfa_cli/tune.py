"""`dlfa tune`: search for training options on dev data of the source language."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.from_dataclasses import given_options, with_options
from dlfa_cli.options import AsJson, Format, TagColumn, WordColumn, sources

if TYPE_CHECKING:
    from dlfa_adapters.learning.tune import TuneResult


_TRIED = ("learning_rate", "head_learning_rate", "batch_size", "epochs")


@with_options("TRAINER", "LINEAR_ON_STATES", "LSTM_ON_STATES", without=(*_TRIED, "seed"))
def tune(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="As for `dlfa train`.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The run folder of the best training; default: runs/TASK-tuned."),
    ] = None,
    train_source: Annotated[list[str] | None, typer.Option("--train", help="As for `dlfa train`.")] = None,
    dev_source: Annotated[list[str] | None, typer.Option("--dev", help="As for `dlfa train`.")] = None,
    language: Annotated[str | None, typer.Option("--language", "-l", help="Language of train and dev.")] = None,
    labels: Annotated[str | None, typer.Option(help="As for `dlfa train`.")] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="`offline`, a folder, or a name on the hub.")] = "offline",
    tuning: Annotated[str | None, typer.Option("--tuning", "-t", help="As for `dlfa train`.")] = None,
    lr: Annotated[list[float] | None, typer.Option(help="Learning rates to try; several times for several.")] = None,
    head_lr: Annotated[list[float] | None, typer.Option(help="Rates of the head to try.")] = None,
    batch_size: Annotated[list[int] | None, typer.Option(help="Batch sizes to try.")] = None,
    epochs: Annotated[list[int] | None, typer.Option(help="Numbers of epochs to try.")] = None,
    sampler: Annotated[str, typer.Option(help="grid tries all; tpe looks where it was good.")] = "grid",
    trials: Annotated[int | None, typer.Option(min=1, help="How many; default: the whole grid.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order and of every training.")] = 0,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
) -> None:
    """Train with many options and keep the run with the best score on source dev data; target data are not looked at.

    Without any values it is the grid of Wu and Dredze 2019: learning rate 2e-5, 3e-5, 5e-5; batch 16, 32; epochs 3, 4.
    Called again after a crash it goes on where it was. Examples:

    `dlfa tune ner --tuning full`

    `dlfa tune ner --tuning lora --lr 2e-4 --lr 5e-4 --head-lr 1e-3 --head-lr 3e-3 --out runs/ner-lora-tuned`
    """
    from dlfa_adapters.learning.checks import BETO_GRID, check_search
    from dlfa_cli.screen import loading, print_lines, progress_bars, stopped_with

    values: dict[str, Any] = dict(zip(_TRIED, (lr, head_lr, batch_size, epochs), strict=True))
    given: dict[str, Any] = {
        "out": out or f"runs/{task}-tuned", "sampler": sampler, "seed": seed, "train_data": sources(train_source,
        "--train"),
        "dev_data": sources(dev_source, "--dev"), "language": language, "labels": labels, "model": model,
        "tuning": tuning,
        **given_options(context),
        "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    grid = {name: tried for name, tried in values.items() if tried}
    check_search(task, grid=grid or BETO_GRID, **given)
    with loading() as screen:
        from dlfa_adapters.learning.tune import tune as search

    goes_on = stopped_with(lambda: "the same command goes on where it was")
    with progress_bars(screen) as progress, goes_on:
        result = search(
            task,
            grid=grid or BETO_GRID,
            trials=trials,
            on_trial=lambda trial, total: progress("Trainings", 1, total),
            on_start=lambda plan: print_lines(screen, plan.notes),
            **given,
        )
    if as_json:
        rows = [{"options": trial.options, "score": trial.score} for trial in result.trials]
        best = {"options": result.best.options, "score": result.best.score}
        typer.echo(json.dumps({"trials": rows, "best": best, "run": str(result.run.folder)}, indent=1))
    else:
        _show(result)


def _show(result: "TuneResult") -> None:
    from rich.table import Table

    from dlfa_adapters.predict.load import takes_pairs
    from dlfa_cli.screen import predict_command, results_console

    names = list(result.best.options)
    table = Table(*names, "dev", title="Scores on dev data of the source language")
    for trial in sorted(result.trials, key=lambda trial: -trial.score):
        style = "bold" if trial == result.best else ""
        table.add_row(*(f"{trial.options[name]:g}" for name in names), f"{trial.score:.2f}", style=style)
    results_console().print(table)
    for note in ("found_nothing", "advice"):
        if note in result.run.config["training"]:
            typer.echo(result.run.config["training"][note])
    command = predict_command(result.run.folder, takes_pairs(result.run))
    typer.echo(f"The best is saved in {result.run.folder}:\n\n  {command}")
