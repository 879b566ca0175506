"""`dlfa analyze overlap`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.options import AsJson, Format, Model, TagColumn, WordColumn, language_list, sources


def overlap(
    task: Annotated[str, typer.Argument(help="ner, pos, xnli, ...; or any name.")],
    train: Annotated[
        list[str],
        typer.Option("--train", help="What was trained on: a file, a folder, `samples:NAME` or `hub:NAME`."),
    ],
    data: Annotated[str, typer.Option("--data", "-d", help="What was scored, likewise: all its languages.")],
    scores: Annotated[
        list[str] | None,
        typer.Option(help="A run or sweep, a saved evaluation, a .json or .csv of scores by language; repeatable."),
    ] = None,
    model: Model = "offline",
    language: Annotated[
        str | None, typer.Option(help="Language or languages of --train; default: en, or by file name.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of --data: test, dev.")] = "test",
    languages: Annotated[
        str | None, typer.Option("--languages", "-l", help="Only these of --data, such as `de,sw`.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first N items of each language of --data.")] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw overlap and score into this .svg, .png or .pdf.")] = None,
) -> None:
    """How many sub-words of each language's test data were in the training data, and whether transfer goes with it.

    Prints the share of types and of tokens for each language, and with --scores Pearson's r and p over languages, with
    and without the source. No model runs; the tokenizer alone is loaded. Examples:

    `dlfa analyze overlap ner --train samples:ner --data samples:ner --model offline`

    `dlfa analyze overlap ner --train panx/ --language en --data panx/ --scores runs/ner-sweep --plot overlap.svg`

    `dlfa analyze overlap pos --train train-en.tsv --data udpos/ --scores scores.csv --json > overlap.json`
    """
    from dlfa_adapters.data.places import (
        Reading,
        check_encoder_name,
        check_languages,
        check_source,
        check_there,
        each_place,
    )
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.plots import check_plot
    from dlfa_cli.screen import loading, print_lines, show_json, show_tables

    source = sources(train, "--train") or ""
    for place in each_place(source):
        check_source(place, "train", format)
    check_source(data, split, format)
    check_languages(data, task, split, language_list(languages))
    reading = Reading(format, word_column, tag_column)
    reading.check([*each_place(source), data])
    check_encoder_name(model)
    for place in scores or ():
        check_there(place)
    if plot is not None:
        if not scores:
            raise ConfigError("A plot has the overlap on one side and scores on the other; add --scores.")
        check_plot(plot)
    with loading("Starting (loading PyTorch)") as screen:
        from dlfa_adapters.analysis.correlation import correlate
        from dlfa_adapters.analysis.overlap import measure_overlap
        from dlfa_adapters.analysis.overlap_report import overlap_notes, overlap_tables, plot_overlap
        from dlfa_adapters.analysis.transfer_scores import join_scores, read_scores
        from dlfa_adapters.data.sources import load_source
        from dlfa_adapters.encoders.load import load_tokenizer
        from dlfa_adapters.learning.dataset import check_same_kind, load_split

    by_model = join_scores(read_scores(place, task) for place in scores or ())
    known = load_split(source, task, "train", language, reading)
    tested = load_source(data, task, split, language_list(languages), **reading.of(data))
    check_same_kind(known, tested, "--data")
    print_lines(screen, (f"Read: {line}" for line in dict.fromkeys([*known.taken, *tested.taken])))
    overlaps = measure_overlap(load_tokenizer(model), known.dataset, tested.dataset, limit)
    found = correlate(overlaps, by_model)
    if plot is not None:
        plot_overlap(overlaps, by_model, found, plot)
    if as_json:
        record = {
            "task": task,
            "train": train,
            "data": data,
            "split": split,
            "limit": limit,
            "model": model,
            "languages": [each.to_dict() for each in overlaps],
            "scores": by_model,
            "correlations": [each.to_dict() for each in found],
        }
        show_json(record)
    else:
        show_tables(overlap_tables(overlaps, by_model, found), overlap_notes(overlaps, by_model, found))
