"""What `dlfa train` says before and after a training."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from dlfa_adapters.learning import Plan
    from dlfa_adapters.runs import Run


def announce(screen: "Console", plan: "Plan") -> None:
    """Say on stderr what is going to be trained, and what else there is."""
    for line in (*plan.lines(), *plan.notes):
        screen.print(line, markup=False, soft_wrap=True)


def show(run: "Run", trained: bool = True) -> None:
    """Print the score on dev and what to do next; `trained`: whether it was trained now."""
    from dlfa_adapters.predict.load import takes_pairs
    from dlfa_cli.screen import predict_command, typed

    training, metrics = run.config["training"], run.config["metrics"]
    scores = metrics["dev"] if isinstance(metrics["dev"], dict) else {"all": metrics["dev"]}
    for language, score in scores.items():
        if score is not None:
            typer.echo(f"{metrics['name']} on {language} dev: {score:.2f} ({training['best']})")
    if trained:
        typer.echo(f"Saved in {run.folder} after {training['seconds']:.0f} s.")
    else:
        typer.echo(f"{run.folder} had been trained to its end; nothing was left to do.")
    if nothing := training.get("found_nothing"):
        typer.echo(nothing)
        return
    if advice := training.get("advice"):
        typer.echo(advice)
    typer.echo("Use it on any language:\n")
    typer.echo(f"  {predict_command(run.folder, takes_pairs(run))}\n  dlfa evaluate {typed(run.folder)} --data DATA")
