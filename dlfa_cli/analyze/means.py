"""`dlfa analyze means`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dlfa_cli.options import (
    AsJson,
    Format,
    TagColumn,
    WordColumn,
    adapters_by_language,
    files_by_language,
    language_list,
)


def means(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run folder, whose encoder has learnt.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Or an encoder: on the hub, a folder, or `offline`.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="LANGUAGE=FILE of UTF-8 text, a paragraph a line; repeatable.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Or data: a file, a folder, `samples:NAME` or `hub:NAME`.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="What the data are for, as in `dlfa evaluate`.")] = None,
    split: Annotated[str, typer.Option(help="`train`, `dev` or `test` of the data.")] = "train",
    languages: Annotated[str | None, typer.Option("--languages", "-l", help="Such as `de,sw`.")] = None,
    by: Annotated[str, typer.Option(help="What counts alike: `pieces` (without special ones) or `words`.")] = "pieces",
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first N texts of each language.")] = None,
    max_length: Annotated[
        int | None, typer.Option(min=3, help="Most pieces of a row; default: 128, or as many as the encoder takes.")
    ] = None,
    language_adapter: Annotated[
        list[str] | None,
        typer.Option(help="LANGUAGE=FOLDER: a language's own adapter (runs of --tuning stack); repeatable."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw cosines by layer into this .svg, .png or .pdf.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("means.safetensors"),
    add: Annotated[bool, typer.Option("--add", help="Add languages to the file that is there.")] = False,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: AsJson = False,
) -> None:
    """The mean state of each language in every layer, in one small file, for `--shift` and `--center`.

    The encoder reads the text once, and keeps nothing of it but sums. Labels are not looked at. Examples:

    `dlfa analyze means --text en=en.txt --text de=de.txt --out means.safetensors`

    `dlfa analyze means --data download/panx --task ner --split dev --by words`

    `dlfa analyze means runs/xnli --text en=en.txt --text sw=sw.txt --out xnli-means.safetensors`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.predict.load import check_has_language, task_of
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables

    if run is not None and model is not None:
        raise ConfigError("Give a run, or an encoder with --model, not both.")
    reading: dict[str, Any] = {"format": format, "word_column": word_column, "tag_column": tag_column}
    files = _check_text(text or [], data, split, reading)
    adapters = adapters_by_language(language_adapter or [])
    read = None if run is None else read_run(run)
    if read is not None:
        task_of(read)
    if adapters:
        if read is None:
            raise ConfigError("--language-adapter is for runs of --tuning stack; name one.")
        check_has_language(read)
    _check_model_and_places(model, by, out, add, plot)
    with loading() as screen:
        from dlfa_adapters.analysis.language_text import text_of_data, text_of_files
        from dlfa_adapters.analysis.means import measure_encoder_means, measure_run_means
        from dlfa_adapters.analysis.means_table import means_notes, means_tables, plot_means
        from dlfa_adapters.encoders import load_encoder
        from dlfa_adapters.encoders.means import LanguageMeans

        before = LanguageMeans.read(out) if add else None
        texts = {language: text_of_files(paths, limit) for language, paths in files.items()}
        if data is not None:
            texts, loaded = text_of_data(data, task, split, language_list(languages), limit, **reading)
            print_lines(screen, (f"Read: {line}" for line in loaded.taken))
    with progress_bars(screen) as progress:
        options: dict[str, Any] = {
            "unit": by, "max_length": max_length, "progress": progress,
            "note": lambda sentence: print_lines(screen, [sentence]),
        }  # fmt: skip
        if read is not None:
            found = measure_run_means(read, texts, adapters, **options)
        else:
            found = measure_encoder_means(load_encoder(model or "offline"), texts, **options)
    twice = [] if before is None else [language for language in found.tensors if language in before.tensors]
    found = found if before is None else before.with_languages(found)
    found.save(out)
    if plot is not None:
        plot_means(found, plot)
    if as_json:
        show_json({"file": str(out), **found.record.as_dict()})
    else:
        show_tables(means_tables(found), means_notes(found))
    replaced = [f"Replaced: the earlier mean of {', '.join(twice)}."] if twice else []
    print_lines(screen, [*replaced, f"Saved in {out}"])


def _check_text(text: list[str], data: str | None, split: str, reading: dict[str, Any]) -> dict[str, list[str]]:
    """The files of each language; text that is not there is refused, before anything is loaded."""
    from dlfa_adapters.data.places import Reading, check_source, check_there
    from dlfa_adapters.ground.errors import ConfigError

    if bool(text) == bool(data):
        raise ConfigError("Name text, --text de=FILE for each language, or labelled data with --data.")
    files = files_by_language(text, "--text")
    for path in (path for paths in files.values() for path in paths):
        check_there(path)
    if data is None:
        if named := [name for name, value in reading.items() if value is not None]:
            raise ConfigError(f"{named[0]} says how data are read, and --text has lines; leave it out.")
    else:
        Reading(**reading).check([data])
        check_source(data, split, reading["format"])
    return files


def _check_model_and_places(model: str | None, by: str, out: Path, add: bool, plot: Path | None) -> None:
    """Refuse what cannot be written, or be added to."""
    from dlfa_adapters.data.places import check_encoder_name
    from dlfa_adapters.encoders.means_record import UNITS, read_record
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.folders import check_writable
    from dlfa_adapters.ground.plots import check_plot

    if model is not None:
        check_encoder_name(model)
    if by not in UNITS:
        raise ConfigError(f"--by must be one of {', '.join(UNITS)}; got {by!r}.")
    check_writable(out)
    if out.exists() and not add:
        raise ConfigError(f"{out} exists; give another file with --out, or type --add to add languages to it.")
    if add:
        read_record(out)
    if plot is not None:
        check_plot(plot)
