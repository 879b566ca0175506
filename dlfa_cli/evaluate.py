"""`dlfa evaluate`, `compare`: a run, or several, judged on data in many languages."""

from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

import typer

from dlfa_cli.options import (
    RESAMPLES,
    AsJson,
    BootstrapSeed,
    EvaluationPrecision,
    Format,
    Resamples,
    RunFolder,
    TagColumn,
    Upos,
    WordColumn,
    adapters_by_language,
    each_reads_besides,
    file_by_language,
    language_list,
    read_besides,
)

Split = Annotated[str, typer.Option(help="`train`, `dev` or `test`.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Take the first N items of each language.")]


def evaluate(
    run: RunFolder,
    data: Annotated[str, typer.Option("--data", "-d", help="A file, a folder, `samples:NAME` or `hub:NAME`.")],
    task: Annotated[str | None, typer.Option(help="What the data are for, if not for the run's own task.")] = None,
    split: Split = "test",
    languages: Annotated[
        str | None, typer.Option("--languages", "-l", help="Such as `de,sw`; for a single file its language.")
    ] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    limit: Limit = None,
    language_adapter: Annotated[
        list[str] | None,
        typer.Option(help="LANGUAGE=FOLDER: a language's own adapter (runs of --tuning stack); repeatable."),
    ] = None,
    shift: Annotated[
        str | None,
        typer.Option(
            metavar="FILE@LAYER:ALPHA",
            help="Move languages towards the source's by means of `dlfa analyze means`; ALPHA is a number, or what it "
            "is picked by: dev (the paper's way; needs target labels), text, parallel.",
        ),
    ] = None,
    shift_parallel: Annotated[
        list[str] | None,
        typer.Option(help="LANGUAGE=FILE: source sentence, TAB, translation a line, for ALPHA parallel; repeatable."),
    ] = None,
    precision: EvaluationPrecision = "fp32",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile: pays for much data.")] = False,
    upos: Upos = None,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the report to this file as Markdown.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Save report and predictions beside the run.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save report and predictions here.")] = None,
) -> None:
    """Score every language: each word or text once, with bootstrap intervals, and the means over target languages.

    The labels are the run's, whatever the files hold. Examples:

    `dlfa evaluate runs/ner-demo --data samples:ner`

    `dlfa evaluate runs/ner-demo --data download/panx --split dev --languages de,sw,zh --save`

    `dlfa evaluate runs/ner-demo --data mine.tsv --languages sw --json > report.json`

    `dlfa evaluate runs/ner-stack -d samples:ner --language-adapter de=adapters/de --language-adapter ru=adapters/ru`

    `dlfa evaluate runs/xnli -d xnli/ --shift means.safetensors@6:dev`
    """
    from dlfa_adapters.predict.load import check_has_language, check_precision, task_of
    from dlfa_adapters.predict.shift_option import check_shift
    from dlfa_adapters.runs import read_run
    from dlfa_cli.screen import loading, print_lines, progress_bars, show_json, show_tables, typed

    own = task_of(read := read_run(run))
    given: dict[str, Any] = {
        "task": task, "split": split, "languages": language_list(languages), "limit": limit,
        "format": format, "word_column": word_column, "tag_column": tag_column, "options": read_besides(read, upos),
    }  # fmt: skip
    _check_data(data, given, own.name)
    check_precision(precision)
    adapters, parallel = (
        adapters_by_language(language_adapter or []),
        file_by_language(shift_parallel, "--shift-parallel"),
    )
    check_shift(read, shift, data, split, parallel, compile=compile)
    folder = out
    if out is not None or save:
        from dlfa_adapters.scores.saved import check_evaluation_place, default_folder, save_evaluation

        folder = out or default_folder(run, data, split)
        check_evaluation_place(folder)
    _check_markdown(markdown)
    if adapters:
        check_has_language(read)
    with loading() as screen:
        from dlfa_adapters.ground.files import write_text
        from dlfa_adapters.predict.run import predict_run
        from dlfa_adapters.scores.evaluate import build_report
        from dlfa_adapters.scores.show import markdown as as_markdown
        from dlfa_adapters.scores.show import notes, tables

    with progress_bars(screen) as progress:
        predictions = predict_run(
            read, data, **given, language_adapters=adapters, shift=shift, shift_parallel=parallel,
            precision=precision, compile=compile, progress=progress,
        )  # fmt: skip
        report = build_report(predictions, resamples=resamples, seed=seed, progress=progress)
    print_lines(screen, (f"Read: {line}" for line in predictions.about["data"]["read"]))
    if as_json:
        show_json(report.to_dict())
    else:
        show_tables(tables(report), notes(report))
    if markdown is not None:
        write_text(markdown, as_markdown(report))
    if folder is not None:
        save_evaluation(folder, predictions, report)
        page = f"dlfa report {typed(folder if out else run)}"
        print_lines(screen, [f"Saved in {folder}; a page of it: {page}"])


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run folder, or a saved evaluation.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[C]...", help="More, all compared with A at once.", show_default=False),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="For runs: a file, a folder, `samples:NAME` or `hub:NAME`.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="What the data are for, if not for the runs' own task.")] = None,
    split: Split = "test",
    languages: Annotated[str | None, typer.Option("--languages", "-l", help="Such as `de,sw`.")] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    limit: Limit = None,
    upos: Upos = None,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to this file as Markdown.")] = None,
) -> None:
    """B minus A: the difference in each language and in the means, with paired intervals and p-values.

    All must have been asked the same words with the same gold labels. Of more than two, each is compared with A, and
    adjusted p-values are for all of them at once. Examples:

    `dlfa compare runs/ner-demo runs/ner-xlmr --data download/panx --split dev`

    `dlfa compare runs/ner-demo-evaluated/panx-dev runs/ner-xlmr-evaluated/panx-dev`

    `dlfa compare runs/ner-last runs/ner-4 runs/ner-8 --data samples:ner`

    `dlfa compare runs/words runs/with-gold --data ud/ --upos runs/pos`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.predict.load import tasks_of_one_kind
    from dlfa_adapters.runs import read_run
    from dlfa_adapters.scores.saved import is_evaluation, read_evaluation
    from dlfa_cli.screen import loading, progress_bars, show_json, show_tables, typed

    folders = [a, b, *(more or [])]
    saved = [is_evaluation(folder) for folder in folders]
    if data is None and not all(saved):
        [unsaved, *_] = [read_run(folder).folder for folder in folders if not is_evaluation(folder)]
        if any(saved):
            raise ConfigError(
                f"A saved evaluation is compared with another one, and {unsaved} is not one; type: "
                f"dlfa evaluate {typed(unsaved)} --data DATA --save"
            )
        raise ConfigError("Two runs are compared on some data: add --data, e.g. --data samples:ner.")
    if data is not None and any(saved):
        raise ConfigError("A saved evaluation has its data with it: leave --data out, or give two run folders.")
    if data is None and upos is not None:
        raise ConfigError("A saved evaluation has been made: leave --upos out, or give two run folders and --data.")
    _check_markdown(markdown)
    runs = [] if data is None else [read_run(folder) for folder in folders]
    tasks, besides = tasks_of_one_kind(runs), each_reads_besides(runs, upos)
    given: dict[str, Any] = {
        "task": task, "split": split, "languages": language_list(languages), "limit": limit,
        "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if data is not None:
        _check_data(data, given, tasks[0].name)
    with loading() as screen:
        from dlfa_adapters.ground.files import write_text
        from dlfa_adapters.predict.run import predict_run
        from dlfa_adapters.scores.compare import compare_all
        from dlfa_adapters.scores.show import comparison_markdown, comparison_notes, comparison_tables

    with progress_bars(screen) as progress:
        if data is None:
            models = [read_evaluation(folder) for folder in folders]
        else:
            names = (*ascii_uppercase, *map(str, range(27, len(runs) + 1)))
            models = [
                predict_run(
                    run, data, **given, options=read,
                    progress=lambda stage, *n, name=name: progress(f"{stage} ({name})", *n),
                )
                for name, run, read in zip(names, runs, besides, strict=False)
            ]  # fmt: skip
        comparisons = compare_all(models, resamples=resamples, seed=seed, progress=progress)
    if as_json:
        one, *others = [comparison.to_dict() for comparison in comparisons]
        record = {"format": one["format"], "comparisons": [one, *others]} if others else one
        show_json(record)
    else:
        for comparison in comparisons:
            show_tables(comparison_tables(comparison), comparison_notes(comparison))
    if markdown is not None:
        write_text(markdown, "\n".join(comparison_markdown(comparison) for comparison in comparisons))


def _check_data(data: str, given: dict[str, Any], own: str) -> None:
    """Refuse data that cannot be read as was typed; `own` is the run's task."""
    from dlfa_adapters.data.places import Reading, check_languages, check_source

    Reading(given["format"], given["word_column"], given["tag_column"]).check([data])
    check_source(data, given["split"], given["format"])
    check_languages(data, given["task"] or own, given["split"], given["languages"])


def _check_markdown(path: Path | None) -> None:
    """Refuse a place where no file can be written, before the work."""
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.ground.folders import check_writable

    if path is None:
        return
    check_writable(path)
    if path.is_dir():
        raise ConfigError(f"--markdown expects a file, but {path} is a folder.")
    if not path.parent.exists():
        raise ConfigError(f"{path} cannot be written: there is no folder {path.parent}; make it first.")
