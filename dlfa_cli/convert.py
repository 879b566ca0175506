"""`dlfa convert`: the model of a run as a folder for Transformers."""

from pathlib import Path
from typing import Annotated

import typer


def convert(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
) -> None:
    """Write the model of a run as Transformers writes one: with the encoder, a LoRA merged into it, and a card.

    A run folder works in `pipeline(...)` as it is; the new folder needs neither the run nor the encoder, and can be put
    on a hub. Runs of `bottleneck` and `stack` have no such form. Example:

    `dlfa convert runs/ner-lora my-tagger`
    """
    from dlfa_adapters.predict.load import check_new, kind_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import visible
    from dlfa_cli.start import loading

    kind_of(read := read_run(run))
    check_new(out)
    with loading("Loading the model"):
        from dlfa_adapters.predict.plain import convert_run

        folder = convert_run(read, out)
    task = {"tagging": "token-classification", "classification": "text-classification"}[kind_of(read)]
    typer.echo(f"Saved in {visible(str(folder))}. Use it in Python:\n")
    typer.echo("  import dlfa_adapters\n  from transformers import pipeline\n")
    typer.echo(f"  model = pipeline({task!r}, model={str(folder)!r})")
