"""`dlfa analyze head-probing`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.analyze.models import EncoderToo, Runs, check_some_named, read_models
from dlfa_cli.options import AsJson, Format, TagColumn, WordColumn, language_list, numbers, sources


def head_probing(
    task: Annotated[str, typer.Argument(help="ner, pos, xnli, pawsx, ...; or any name, with the labels of the data.")],
    runs: Runs = None,
    model: EncoderToo = None,
    train: Annotated[
        list[str] | None, typer.Option("--train", help="A file, a folder, hub:NAME or samples:NAME; default: samples.")
    ] = None,
    dev: Annotated[list[str] | None, typer.Option("--dev", help="Dev data, in the same languages.")] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Rank by the score on these test data; default: on dev.")
    ] = None,
    languages: Annotated[
        str | None, typer.Option("--languages", help="Only these of --data, such as `de,sw`; default: all.")
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Language of train and dev; default: en, or by file name.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Take the first N items of each language, in each part.")
    ] = None,
    top: Annotated[str | None, typer.Option(help="K, with commas; default: 40,60,80 of 144 heads.")] = None,
    by_language: Annotated[bool, typer.Option("--by-language", help="Compare languages, not their union.")] = False,
    others: Annotated[
        list[Path] | None, typer.Option("--with", help="What --json gave before, to compare with. Repeatable.")
    ] = None,
    score: Annotated[str, typer.Option(help="`macro-f1` over labels, or the task's own `metric`.")] = "macro-f1",
    lr: Annotated[str, typer.Option(help="First learning rates; dev chooses, head by head.")] = "1e-3,1e-2,1e-1,1",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training data.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw layers by heads into this .svg, .png or .pdf.")] = None,
) -> None:
    """How much of a task each attention head tells by itself; and whether it is the same heads in two models.

    The model stays as it is; a linear classifier a head learns on what that head gives, all side by side, on states
    that are computed once. Prints layers by heads, the best heads, and for every two models how many of the K best
    they share. Examples:

    `dlfa analyze head-probing ner --model offline --plot heads.svg`

    `dlfa analyze head-probing pos runs/pos-en runs/ner-en --train udpos/ --data udpos/ --languages en,de --limit 1000`

    `dlfa analyze head-probing ner runs/ner-en --with pos.json --top 40,60,80 --json > ner.json`
    """
    from dlfa_adapters.analysis.probing.options import ProbeOptions
    from dlfa_adapters.data.places import Reading, check_source, check_there, each_place
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.checks import default_source
    from dlfa_adapters.learning.ranges import parse_numbers
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables

    check_some_named(runs, model)
    if data is None and (languages is not None or by_language):
        option = "--languages" if languages is not None else "--by-language"
        raise ConfigError(f"{option} is for test data; name some with --data, or leave it out.")
    options = ProbeOptions(learning_rates=numbers(lr, "--lr"), epochs=epochs, seed=seed, score=score)
    source, dev_source = sources(train, "--train") or default_source(task), sources(dev, "--dev")
    reading = Reading(format, word_column, tag_column)
    for place in each_place(source):
        check_source(place, "train", format)
    if data is not None:
        check_source(data, "test", format)
    reading.check([*each_place(source), *each_place(dev_source), *each_place(data)])
    for path in others or ():
        check_there(path)
    chosen = parse_numbers(top, "K") if top else ()
    read = read_models(runs, model, plot)
    with loading() as screen:
        from dlfa_adapters.analysis.probing import heads
        from dlfa_adapters.analysis.probing.data import read_probe_data
        from dlfa_adapters.analysis.probing.heads_report import head_notes, head_tables, plot_heads, read_probings
        from dlfa_adapters.analysis.probing.overlap import top_overlap
        from dlfa_adapters.analysis.states import open_all
        from dlfa_adapters.data.assemble import left_out

    before = [each for path in others or () for each in read_probings(path)]
    probed = read_probe_data(
        task, source, dev_source, data, language=language, languages=language_list(languages), limit=limit,
        reading=reading,
    )  # fmt: skip
    print_lines(screen, [f"Read: {line}" for line in probed.taken])
    if probed.dropped:
        print_lines(screen, [f"Left out: {left_out(probed.dropped)}."])
    with progress_bars(screen) as progress:
        found = [
            heads.probe_heads(opened, probed, options, progress)
            for opened in open_all(model, read, partial(heads.check_heads, top=chosen))
        ]
    found += before
    overlaps = top_overlap(heads.by_language(found) if by_language else heads.rankings(found), chosen)
    if plot is not None:
        plot_heads(found, plot)
    if as_json:
        show_json({"models": [each.to_dict() for each in found], "overlaps": [each.to_dict() for each in overlaps]})
    else:
        show_tables(head_tables(found, overlaps), head_notes(found, overlaps))
