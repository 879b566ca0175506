"""`dlfa analyze head-updates`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.options import AsJson


def head_updates(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Run folders whose encoder has learnt; or encoders.")
    ],
    before: Annotated[
        str | None,
        typer.Option(help="The encoder before: a folder, `offline`, on the hub; default: what a run began with."),
    ] = None,
    weights: Annotated[
        str, typer.Option(help="Whose change counts, with commas: query, key, value, output.")
    ] = "query,key,value,output",
    normalise: Annotated[
        str,
        typer.Option(help="`max`: by the largest of the model; `relative`: by the head's own weights; `none`."),
    ] = "max",
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the maps, and differences to the first, into this .svg, .png or .pdf.")
    ] = None,
) -> None:
    """How far each attention head moved in training, layers by heads; and whether it is the same heads in two models.

    The mean absolute change of the weights of a head, of runs of --tuning full and freeze:N, and of LoRA as its merged
    weights. With several models Spearman's rho over heads, and the difference of their maps. No text is read.

    Examples:
    `dlfa analyze head-updates runs/ner-full --plot updates.svg`

    `dlfa analyze head-updates runs/ner-en runs/ner-en-de-es-fr --plot updates.svg`

    `dlfa analyze head-updates ./adapted --before xlm-roberta-base --normalise relative --json > updates.json`
    """
    from dlfa_adapters.analysis.head_updates_options import HeadUpdatesOptions
    from dlfa_adapters.data.places import check_encoder_name
    from dlfa_adapters.ground.plots import check_plot
    from dlfa_cli.analyze.models import runs_or_encoders
    from dlfa_cli.screen import loading, progress_bars, show_json, show_tables

    options = HeadUpdatesOptions(weights=tuple(weights.split(",")), normalise=normalise)
    if plot is not None:
        check_plot(plot)
    if before is not None:
        check_encoder_name(before)
    read = runs_or_encoders(models, alone=before is not None)
    with loading() as screen:
        from dlfa_adapters.analysis.head_updates import compare_updates, measure_head_updates, not_compared
        from dlfa_adapters.analysis.head_updates_report import plot_updates, updates_notes, updates_tables

    with progress_bars(screen) as progress:
        found = measure_head_updates(read, before, options, progress)
    compared = compare_updates(found)
    if plot is not None:
        plot_updates(found, compared, plot)
    if as_json:
        record = {
            "weights": list(options.weights),
            "normalise": options.normalise,
            "models": [each.to_dict() for each in found],
            "compared": [each.to_dict() for each in compared],
            "not_compared": not_compared(found),
        }
        show_json(record)
    else:
        show_tables(updates_tables(found, compared, options), updates_notes(found, compared, options))
