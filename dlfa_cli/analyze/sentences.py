"""`dlfa analyze sentences`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.analyze.models import EncoderToo, Runs, check_some_named, read_models
from dlfa_cli.options import RESAMPLES, AsJson, BootstrapSeed, Resamples


def sentences(
    runs: Runs = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            "--parallel",
            "-p",
            metavar="[NAME=]PLACE",
            help="Sentence, TAB, translation a line; x.en-de of x.en-de.en and x.en-de.de; or a folder. Repeatable.",
        ),
    ] = None,
    model: EncoderToo = None,
    layers: Annotated[list[int] | None, typer.Option("--layer", "-l", help="Only this layer. Repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Take the first N pairs of each.")] = None,
    neighbours: Annotated[int, typer.Option(min=1, help="Nearest ones that CSLS takes the mean of.")] = 10,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it by layer into this .svg, .png or .pdf.")] = None,
) -> None:
    """How often the nearest sentence is the translation, both ways, by layer and behind the fusion of each run.

    By cosine and by CSLS, of the mean states as they are and with the mean of their language taken off. It is exact,
    and the matrix of all cosines is never in memory. Examples:

    `dlfa analyze sentences --model offline --parallel en-sw.tsv`

    `dlfa analyze sentences --model offline --parallel tatoeba --plot sentences.svg`

    `dlfa analyze sentences runs/ner-demo --parallel de=en-de.tsv --parallel sw=en-sw.tsv --json > sentences.json`
    """
    from dlfa_adapters.data.parallel import find_parallel, read_parallel_text
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_cli.screen import loading, progress_bars, show_json, show_tables

    if not parallel:
        raise ConfigError("Sentences and their translations are needed; add --parallel FILE, a TAB between the two.")
    check_some_named(runs, model)
    texts = [read_parallel_text(files, limit) for files in find_parallel(parallel)]
    read = read_models(runs, model, plot)
    with loading() as screen:
        from dlfa_adapters.analysis.retrieval.sentences import measure_sentences, sentence_notes, sentence_results
        from dlfa_adapters.analysis.retrieval.show import plot_retrieval, retrieval_tables
        from dlfa_adapters.analysis.states import open_all

    with progress_bars(screen) as progress:
        results = sentence_results(
            measure_sentences(
                open_all(model, read),
                {text.name: text.pairs for text in texts},
                layers=layers or None,
                neighbours=neighbours,
                resamples=resamples,
                seed=seed,
                progress=progress,
            )
        )
    if plot is not None:
        plot_retrieval(results, plot)
    if as_json:
        record = {**results.to_dict(), "left_out": {text.name: dict(text.left_out) for text in texts}}
        show_json(record)
    else:
        show_tables(retrieval_tables(results), sentence_notes(results, texts))
