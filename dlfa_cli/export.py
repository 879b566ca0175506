"""`dlfa export` and `dlfa convert`: the model of a run as an ONNX file, or as a folder for Transformers."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="A run folder, e.g. what `dlfa demo` saved.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file; what it needs is written beside it.")],
    language_adapter: Annotated[
        str | None,
        typer.Option(help="Folder of a language adapter that replaces the source's (runs of --tuning stack)."),
    ] = None,
) -> None:
    """Write the model of a run for use without PyTorch, after comparing its logits with PyTorch's.

    Beside the file come the labels, tokenizer.json, and a small package that tags words or labels texts with numpy,
    onnxruntime and tokenizers alone. Needs the extra `onnx`. Examples:

    `dlfa export runs/ner-demo onnx/ner.onnx`

    `dlfa export runs/ner-stack onnx-sw/ner.onnx --language-adapter adapters/sw`
    """
    from dlfa_adapters.export.files import check_extra, check_place
    from dlfa_adapters.predict.load import check_has_language, kind_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, progress_bars

    check_extra()
    check_place(out)
    kind_of(read := read_run(run))
    if language_adapter is not None:
        check_has_language(read)
    with loading() as screen:
        from dlfa_adapters.export import export_onnx

    with progress_bars(screen) as progress:
        written = export_onnx(read, out, language_adapter=language_adapter, progress=progress)
    shapes = ", ".join(f"{batch}x{length}" for batch, length in written.shapes)
    screen.print(f"Logits within {written.difference:.1e} of PyTorch's (batch x length {shapes})", markup=False)
    typer.echo(written.file)


def convert(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
) -> None:
    """Write the model of a run as Transformers writes one: with the encoder, a LoRA merged into it, and a card.

    A run folder works in `pipeline(...)` as it is; the new folder needs neither the run nor the encoder, and can be put
    on a hub. Runs of `bottleneck` and `stack` have no such form. Example:

    `dlfa convert runs/ner-lora my-tagger`
    """
    from dlfa_adapters.kinds import kind_named
    from dlfa_adapters.predict.load import check_new, kind_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, visible

    kind_of(read := read_run(run))
    check_new(out)
    with loading("Loading the model"):
        from dlfa_adapters.predict.forms import convert_run

        folder = convert_run(read, out)
    task = kind_named(kind_of(read)).pipeline
    typer.echo(f"Saved in {visible(str(folder))}. Use it in Python:\n")
    typer.echo("  import dlfa_adapters\n  from transformers import pipeline\n")
    typer.echo(f"  model = pipeline({task!r}, model={str(folder)!r})")
