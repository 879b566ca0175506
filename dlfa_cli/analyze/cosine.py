"""`dlfa analyze cosine`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.analyze.models import EncoderToo, Runs, check_some_named, read_models
from dlfa_cli.options import RESAMPLES, AsJson, BootstrapSeed, Resamples


def cosine(
    runs: Runs = None,
    parallel: Annotated[
        Path | None, typer.Option("--parallel", "-p", help="A UTF-8 file: sentence, TAB, its translation a line.")
    ] = None,
    model: EncoderToo = None,
    limit: Annotated[int, typer.Option(min=2, help="Take the first N pairs.")] = 1000,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the cosines by layer into this .svg, .png or .pdf.")] = None,
) -> None:
    """How alike sentences and their translations are, by layer and behind the fusion of each run.

    Prints the mean cosine of the mean states of a sentence and its translation with a bootstrap interval; the same with
    the translations of the other sentences, for in some layers all states are alike; and for how many sentences the
    nearest of all translations is their own, in both directions. Examples:

    `dlfa analyze cosine runs/ner-demo --parallel en-sw.tsv`

    `dlfa analyze cosine runs/ner-last runs/ner-7 --parallel en-sw.tsv --plot cosine.svg`

    `dlfa analyze cosine --model offline --parallel en-sw.tsv --limit 500 --json > cosine.json`
    """
    from dlfa_adapters.data.pairs import read_parallel
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_cli.screen import loading, progress_bars, show_json, show_tables

    if parallel is None:
        raise ConfigError("Sentences and their translations are needed; add --parallel FILE, a TAB between the two.")
    check_some_named(runs, model)
    pairs, read = read_parallel(parallel, limit), read_models(runs, model, plot)
    with loading() as screen:
        from dlfa_adapters.analysis.parallel import measure_opened
        from dlfa_adapters.analysis.parallel_report import (
            all_differences,
            parallel_notes,
            parallel_tables,
            plot_parallel,
        )
        from dlfa_adapters.analysis.states import open_all

    with progress_bars(screen) as progress:

        def options(name: str) -> dict[str, object]:
            total = 2 * len(pairs)
            return {
                "resamples": resamples,
                "seed": seed,
                "on_progress": lambda done: progress(f"Sentences ({name})", done, total),
            }

        reports = [measure_opened(opened, pairs, **options(opened.name)) for opened in open_all(model, read)]
    if plot is not None:
        plot_parallel(reports, plot)
    compared = all_differences(reports)
    if as_json:
        rows = [
            {"a": a, "b": b, "scores": {name: vars(difference) for name, difference in scores.items()}}
            for a, b, scores in compared
        ]
        record = {"parallel": str(parallel), "models": [report.to_dict() for report in reports], "differences": rows}
        show_json(record)
    else:
        show_tables(parallel_tables(reports, compared), parallel_notes(reports))
