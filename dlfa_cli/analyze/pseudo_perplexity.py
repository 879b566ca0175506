"""`dlfa analyze pseudo-perplexity`."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dlfa_cli.options import (
    RESAMPLES,
    AsJson,
    BootstrapSeed,
    Format,
    Resamples,
    TagColumn,
    WordColumn,
    files_by_language,
    language_list,
)


def pseudo_perplexity(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="Masked language models, adapted encoders, or runs on one of them."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="LANGUAGE=FILE of UTF-8 text, a text a line; repeatable. Or a folder of text by language."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Or data, whose labels are not looked at, as in `dlfa adapt`.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="What the data are for, as in `dlfa evaluate`.")] = None,
    split: Annotated[str, typer.Option(help="`train`, `dev` or `test` of the data.")] = "test",
    languages: Annotated[str | None, typer.Option("--languages", "-l", help="Such as `de,sw`.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first N texts of each language.")] = None,
    max_length: Annotated[
        int | None, typer.Option(min=3, help="Most pieces of a row; default: as many as the encoder takes.")
    ] = None,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw bars by language into this .svg, .png or .pdf.")] = None,
) -> None:
    """How well masked language models read text of each language: every piece is hidden once (Salazar et al. 2020).

    A run is read with the decoder of the encoder that it began with, as XMULTI's Table 5 does. Both texts of a pair are
    texts. Examples:

    `dlfa analyze pseudo-perplexity bert-base-multilingual-cased runs/ner --data panx/ --task ner --limit 500`

    `dlfa analyze pseudo-perplexity adapted/ner --text en=en.txt --text de=de.txt --plot pppl.svg`

    `dlfa analyze pseudo-perplexity xlm-roberta-base --text texts/ --json > pppl.json`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.plots import check_plot
    from dlfa_cli.analyze.models import runs_or_encoders
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables

    if not models:
        raise ConfigError("Name a masked language model, an adapted encoder or a run; type e.g. xlm-roberta-base.")
    reading: dict[str, Any] = {"format": format, "word_column": word_column, "tag_column": tag_column}
    _check_text(text or [], data, split, task, reading)
    if plot is not None:
        check_plot(plot)
    named = runs_or_encoders(models, alone=True)
    with loading() as screen:
        from dlfa_adapters.analysis.pseudo_perplexity.measure import measure_pseudo_perplexity
        from dlfa_adapters.analysis.pseudo_perplexity.models import check_masked, load_masked
        from dlfa_adapters.analysis.pseudo_perplexity.report import (
            plot_pseudo_perplexity,
            pseudo_perplexity_notes,
            pseudo_perplexity_tables,
        )
        from dlfa_adapters.analysis.pseudo_perplexity.score import Windows
        from dlfa_adapters.analysis.states import in_turn
        from dlfa_adapters.encoders import Encoder
        from dlfa_adapters.runs import Run

        for each in named:
            if isinstance(each, Run):
                check_masked(each)
        texts, lines = _texts(text or [], data, split, task, language_list(languages), limit, reading)
        print_lines(screen, lines)

    def check(encoder: Encoder) -> None:
        Windows.of(encoder, [], max_length)

    found = []
    with progress_bars(screen) as progress:
        for encoder in in_turn([partial(load_masked, name) for name in named], check):
            found += measure_pseudo_perplexity(
                encoder, texts, max_length=max_length, resamples=resamples, seed=seed, progress=progress
            )
    if plot is not None:
        plot_pseudo_perplexity(found, plot)
    if as_json:
        show_json({"data": data or text, "split": split, "limit": limit, "models": [each.to_dict() for each in found]})
    else:
        show_tables(pseudo_perplexity_tables(found), pseudo_perplexity_notes(found))


def _check_text(text: list[str], data: str | None, split: str, task: str | None, reading: dict[str, Any]) -> None:
    """Refuse text that is not there, before anything is loaded."""
    from dlfa_adapters.data.places import Reading, check_source, check_there
    from dlfa_adapters.ground.errors import ConfigError

    if bool(text) == bool(data):
        raise ConfigError("Name text, --text de=FILE for each language or a folder, or data with --data.")
    if data is not None:
        Reading(**reading).check([data])
        check_source(data, split, reading["format"])
        return
    if given := [name for name, value in {**reading, "task": task}.items() if value is not None]:
        raise ConfigError(f"{given[0]} is for --data, and --text has lines; leave it out.")
    if not _is_folder(text):
        for paths in files_by_language(text, "--text").values():
            for path in paths:
                check_there(path)


def _is_folder(text: list[str]) -> bool:
    return len(text) == 1 and Path(text[0]).is_dir()


def _texts(
    text: list[str],
    data: str | None,
    split: str,
    task: str | None,
    languages: list[str] | None,
    limit: int | None,
    reading: dict[str, Any],
) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of each language, and what to say of how they were read."""
    from dlfa_adapters.data.assemble import left_out
    from dlfa_adapters.data.places import Reading
    from dlfa_adapters.data.readers import read_text
    from dlfa_adapters.data.text_by_language import read_text_by_language
    from dlfa_adapters.ground.errors import DataError
    from dlfa_adapters.learning.adapt.text import read_unlabelled

    if data is not None:
        read = read_unlabelled(data, task, split, languages, Reading(**reading), split_pairs=True)
        texts = {language: [each for each in of if isinstance(each, str)] for language, of in read.texts.items()}
        lines, dropped = [f"Read: {line}" for line in read.taken], read.dropped
    elif _is_folder(text):
        folder = read_text_by_language(text[0], languages)
        texts, lines, dropped = folder.texts, [], folder.dropped
    else:
        files = files_by_language(text, "--text")
        wanted = languages or list(files)
        if missing := [language for language in wanted if language not in files]:
            raise DataError(f"expected a file of text in {', '.join(missing)}; name it with --text")
        texts = {x: [item.text for path in files[x] for item in read_text(path).items] for x in wanted}
        lines, dropped = [], Counter()
    if dropped:
        lines.append(f"Left out: {left_out(dropped)}.")
    return {language: of[:limit] for language, of in texts.items()}, lines
