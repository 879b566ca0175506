"""`dlfa analyze language-id`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.analyze.models import EncoderToo, Runs, check_some_named, read_models
from dlfa_cli.options import RESAMPLES, AsJson, Format, Resamples, language_list, numbers


def language_id(
    runs: Runs = None,
    data: Annotated[
        Path | None, typer.Option("--data", "-d", help="A folder of text: de.txt, de/test.tsv, ..., a text a line.")
    ] = None,
    model: EncoderToo = None,
    languages: Annotated[
        str | None, typer.Option("--languages", "-l", help="Only these, such as `de,sw`; default: all.")
    ] = None,
    limit: Annotated[int, typer.Option(min=10, help="Take N texts of each language, by a hash.")] = 1000,
    pooling: Annotated[str, typer.Option(help="What a text is: mean, sum, first, last of its states.")] = "mean",
    lr: Annotated[str, typer.Option(help="The first learning rate; of several dev chooses, layer by layer.")] = "1e-3",
    epochs: Annotated[int, typer.Option(min=1, help="Most passes over the training part.")] = 200,
    resamples: Resamples = RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of training and bootstrap.")] = 0,
    format: Format = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the accuracy by layer into this .svg, .png or .pdf.")] = None,
) -> None:
    """How well the language of a text is told from each layer alone, and from what the fusion of each run gives.

    The encoder stays as it is; a linear classifier a layer learns on the mean of the token states, all layers side by
    side. Prints the accuracy with a bootstrap interval by layer and by language, and which languages are mixed up.

    Examples:
    `dlfa analyze language-id --model offline --data texts/ --plot language-id.svg`

    `dlfa analyze language-id runs/ner-demo --data texts/ --languages de,en,sw --limit 500`

    `dlfa analyze language-id --model offline --data texts/ --lr 1e-3,1e-2 --json > language-id.json`
    """
    from dlfa_adapters.analysis.language_id_options import LanguageIdOptions
    from dlfa_adapters.data.text_by_language import read_text_by_language
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables

    if data is None:
        raise ConfigError("Text by language is needed; add --data FOLDER, with files such as de.txt or de/test.tsv.")
    check_some_named(runs, model)
    read = read_models(runs, model, plot)
    chosen = numbers(lr, "--lr")
    options = LanguageIdOptions(pooling=pooling, learning_rates=chosen, epochs=epochs, resamples=resamples, seed=seed)
    text = read_text_by_language(data, language_list(languages), limit, format)
    text.check_parts()
    with loading() as screen:
        from dlfa_adapters.analysis.language_id import identify_languages
        from dlfa_adapters.analysis.language_id_report import (
            language_id_notes,
            language_id_tables,
            plot_language_id,
        )
        from dlfa_adapters.analysis.states import open_all
        from dlfa_adapters.data.assemble import left_out

    if text.dropped:
        print_lines(screen, [f"Left out: {left_out(text.dropped)}."])
    with progress_bars(screen) as progress:
        reports = [identify_languages(opened, text, options, progress) for opened in open_all(model, read)]
    if plot is not None:
        plot_language_id(reports, plot)
    if as_json:
        record = {
            "data": str(data),
            "limit": limit,
            "left_out": dict(text.dropped),
            "models": [report.to_dict() for report in reports],
        }
        show_json(record)
    else:
        show_tables(language_id_tables(reports), language_id_notes(reports, limit))
