"""`dlfa analyze translate`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.options import RESAMPLES, AsJson, BootstrapSeed, Resamples, files_by_language, numbers


def translate(
    parallel: Annotated[
        str | None,
        typer.Option(
            "--parallel",
            "-p",
            metavar="[NAME=]PLACE",
            help="Sentence, TAB, translation a line, in en-de.tsv; or x.en-de of x.en-de.en and x.en-de.de.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="A masked language model: on the hub, or a folder.")
    ] = "bert-base-multilingual-cased",
    language_adapter: Annotated[
        str | None,
        typer.Option(help="Folder of `dlfa train-language` with adapter and decoder, for a model without one."),
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the second language into the first.")] = False,
    means: Annotated[
        Path | None, typer.Option(help="What `dlfa analyze means` made; default: made of --text, or of the sentences.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="LANGUAGE=FILE of text for means and token sets. Repeatable.")
    ] = None,
    layers: Annotated[str | None, typer.Option("--layers", "-l", help="Such as 4-9 or 1,7; default: all.")] = None,
    alphas: Annotated[str, typer.Option(help="Weights of the shift, with commas.")] = "1,2,3",
    units: Annotated[
        str | None,
        typer.Option(help="What BLEU-1 counts: 13a, intl, zh, char, none, pieces; default: by the language."),
    ] = None,
    limit: Annotated[int, typer.Option(min=2, help="Take the first N sentences.")] = 200,
    max_length: Annotated[
        int | None,
        typer.Option(min=4, help="Most pieces of a sentence; default: 128, or as many as the encoder takes."),
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="Print the first N sentences as they are translated.")] = 1,
    show_layer: Annotated[int | None, typer.Option(help="Shifted there; default: as layer 10 is in 12.")] = None,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the grid into this .svg, .png or .pdf.")] = None,
) -> None:
    """Translate token by token: shift the states of a masked language model towards another language, and decode.

    Prints BLEU-1 against the translations and the share of tokens that came out in the other language, for every layer
    and weight of the shift. Examples:

    `dlfa analyze translate --parallel en-de.tsv --model bert-base-multilingual-cased --plot grid.svg`

    `dlfa analyze translate --parallel en-de.tsv --reverse --layers 7-12 --alphas 1,2,3,4`

    `dlfa analyze translate --parallel en-de.tsv --model offline --language-adapter adapters/mul`
    """
    from dlfa_adapters.analysis.translation.checks import check_alphas, check_translation
    from dlfa_adapters.data.parallel import find_parallel, languages_in, read_parallel_text
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.ranges import parse_numbers
    from dlfa_cli.screen import loading, print_lines, progress_bars, results_console, show_json, show_tables

    if parallel is None:
        raise ConfigError("Sentences and their translations are needed; add --parallel FILE, a TAB between the two.")
    files = find_parallel([parallel])
    if len(files) > 1:
        raise ConfigError(f"{parallel} has {len(files)} pairs of languages; name one, e.g. {files[0].files[0]}.")
    languages = languages_in(files[0].name)
    if languages is None:
        raise ConfigError(f"The name of {parallel} does not say which languages it has; type en-de={parallel}.")
    pairs = read_parallel_text(files[0], limit).pairs
    if reverse:
        languages, pairs = (languages[1], languages[0]), [(second, first) for first, second in pairs]
    of_text = files_by_language(text, "--text")
    chosen = None if layers is None else parse_numbers(layers)
    weights = check_alphas(numbers(alphas, "--alphas", "weights such as 0.5,1,2"))
    check_translation(model, language_adapter, languages, units=units, means=means, text=of_text, plot=plot)
    with loading() as screen:
        from dlfa_adapters.analysis.translation.prepare import translate_tokens
        from dlfa_adapters.analysis.translation.report import (
            plot_translation,
            sample_lines,
            translation_notes,
            translation_tables,
        )

    with progress_bars(screen) as progress:
        report = translate_tokens(
            model, pairs, languages, language_adapter=language_adapter, means=means, text=of_text, layers=chosen,
            alphas=weights, units=units, max_length=max_length, shown=show, shown_layer=show_layer,
            resamples=resamples, seed=seed, progress=progress,
        )  # fmt: skip
    if plot is not None:
        plot_translation(report, plot)
    if as_json:
        show_json(report.to_dict())
    else:
        show_tables(translation_tables(report), [])
        print_lines(results_console(), [*sample_lines(report), *translation_notes(report)])
