"""`dlfa demo`: train on English samples, tag other languages, save the model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.options import AsJson, Model

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from dlfa_adapters.demo import DemoResult

MOST_SEED = 2**32 - 1  # what NumPy takes
ENTITY_COLOURS = {"PER": "bold green", "LOC": "bold cyan", "ORG": "bold magenta"}


def demo(
    model: Model = "offline",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the picked model.")] = Path("runs/ner-demo"),
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of first weights and order of batches.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn named entities from English samples with a frozen encoder, and tag other languages. Under two minutes.

    Computes the encoder's hidden states once, trains the baseline (`last`) and every layer fusion (`D_1`, `D_2`, ...)
    side by side, each at the learning rate that is best for it, picks the layer on English dev data, and saves that
    model. Examples:

    `dlfa demo`

    `dlfa demo --model xlm-roberta-base --out runs/ner-xlmr`

    `dlfa demo --json > demo.json`
    """
    from dlfa_adapters.data.places import check_encoder_name
    from dlfa_adapters.runs import check_run_place
    from dlfa_cli.screen import loading, progress_bars, show_json

    check_encoder_name(model)
    check_run_place(out)
    with loading() as screen:
        from dlfa_adapters.demo import run_demo

    with progress_bars(screen) as progress:
        result = run_demo(model, out=out, seed=seed, progress=progress)
    if as_json:
        show_json(as_dict(result))
    else:
        show(result)


def as_dict(result: "DemoResult") -> dict[str, Any]:
    """What `--json` prints, and the screen has its figures from."""
    columns = {column: result.heads[column] for column in result.columns}
    alone = {name: head for name, head in result.heads.items() if name not in columns}
    return {
        "columns": result.columns,
        "scores": {language: {column: row[column] for column in columns} for language, row in result.scores.items()},
        "mean": {column: result.mean(column) for column in columns},
        "dev": {column: round(head.dev_score, 2) for column, head in columns.items()},
        "epochs": {column: head.epoch for column, head in columns.items()},
        "rates": {column: head.rate.learning_rate for column, head in columns.items()},
        "alone": {name: {"dev": round(head.dev_score, 2), "mean": result.mean(name)} for name, head in alone.items()},
        "picked": result.picked,
        "run": str(result.run.folder),
        "metric": "span F1 (lenient), percent",
        "encoder": result.encoder,
    }


def show(result: "DemoResult") -> None:
    """Print the table, the choice, and the tagged sentences."""
    from dlfa_cli.screen import results_console, typed

    console, figures, picked = results_console(), as_dict(result), result.picked
    console.print(f"\nEncoder: {result.encoder}; frozen", soft_wrap=True)
    _table(console, figures)
    dev = figures["dev"][picked]
    console.print(
        f"Picked [bold]{picked}[/bold] on English dev (F1 {dev:.1f}, epoch {figures['epochs'][picked]}). Each column "
        "has the learning rate and the epoch that were best for it on English dev. The gate is `attention`, the "
        "bounded form: with this little data the printed one learns more slowly. The sentences are samples: these "
        "numbers are no results.\n"
    )
    for language, words, tags in result.taste:
        console.print(f"  {language}  ", coloured(words, tags), sep="")
    if dev == 0:
        console.print("\nNo head has learnt anything on this encoder: every F1 on English dev is 0.")
    folder = typed(result.run.folder)
    console.print(
        f"\nSaved in {result.run.folder}. Go on with it, or with data of your own:\n\n"
        f'  dlfa predict {folder} "…"\n'
        f"  dlfa evaluate {folder} --data samples:ner\n"
        "  dlfa train names --train FILE --dev FILE\n",
        soft_wrap=True,
    )


def _table(console: "Console", figures: dict[str, Any]) -> None:
    """Languages by columns; narrow enough for a terminal of 80 characters with 12 layers."""
    from rich import box
    from rich.table import Table

    def cells(values: dict[str, float], form: str = ".1f") -> list[str]:
        return [f"{values[column]:{form}}" if column in values else "" for column in figures["columns"]]

    title = "Span F1 by language; trained on English only"
    table = Table(title=title, title_style="bold", box=box.SIMPLE_HEAD, padding=0)
    table.add_column("", min_width=4, no_wrap=True)
    for column in figures["columns"]:
        mark, style = ("*", "bold") if column == figures["picked"] else ("", "")
        table.add_column(f"{column}{mark}", justify="right", style=style, no_wrap=True)
    table.add_row("rate", *cells(figures["rates"], "g"), style="dim")
    table.add_row("dev", *cells(figures["dev"]), style="dim", end_section=True)
    rows = list(figures["scores"].items())
    for i, (language, row) in enumerate(rows):
        table.add_row(language, *cells(row), end_section=i in (0, len(rows) - 1))
    table.add_row("mean", *cells(figures["mean"]), style="bold")
    alone = {name.replace("layer ", "D_"): of["mean"] for name, of in figures["alone"].items()}  # below D_k: layer k
    table.add_row("alone", *cells(alone), style="dim")
    table.caption = (
        f"last: the baseline. dev: English dev, which picks (*). mean: the {len(rows) - 1} languages but English. "
        "alone: that mean for a linear head on layer k without fusion."
    )
    console.print(table)


def coloured(words: list[str], tags: list[str]) -> "Text":
    """Words with their entities in colour, and the type behind each."""
    from rich.text import Text

    text = Text()
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        kind = tag[2:] if tag != "O" else ""
        style = ENTITY_COLOURS.get(kind, "bold yellow") if kind else ""
        text.append(word, style)
        goes_on = i + 1 < len(tags) and tags[i + 1] == f"I-{kind}"
        if kind and not goes_on:
            text.append(f"[{kind}]", "dim")
        text.append(" ", style if goes_on else "")
    return text
