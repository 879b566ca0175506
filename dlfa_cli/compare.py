"""`dlfa compare`: runs on the same data, or saved evaluations; all with the first one."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.evaluate import (
    RESAMPLES,
    AsJson,
    Limit,
    Resamples,
    Seed,
    Split,
    check_markdown,
    language_list,
    show,
)
from dlfa_cli.options import Format, TagColumn, WordColumn


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
    resamples: Resamples = RESAMPLES,
    seed: Seed = 0,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to this file as Markdown.")] = None,
) -> None:
    """B minus A: the difference in each language and in the means, with paired intervals and p-values.

    All must have been asked the same words with the same gold labels. Of more than two, each is compared with A, and
    adjusted p-values are for all of them at once. Examples:

    `dlfa compare runs/ner-demo runs/ner-xlmr --data download/panx --split dev`

    `dlfa compare runs/ner-demo-evaluated/panx-dev runs/ner-xlmr-evaluated/panx-dev`

    `dlfa compare runs/ner-last runs/ner-4 runs/ner-8 --data samples:ner`
    """
    from dlfa_adapters.data.reading import Reading, check_source
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.predict.load import task_of
    from dlfa_adapters.runs import read_run
    from dlfa_adapters.scores.saved import is_evaluation, read_evaluation
    from dlfa_cli.screen import loading, progress_bars, typed

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
    if markdown is not None:
        check_markdown(markdown)
    runs = [] if data is None else [read_run(folder) for folder in folders]
    for run in runs:
        task_of(run)
    if data is not None:
        Reading(format, word_column, tag_column).check([data])
        check_source(data, split, format)
    with loading() as screen:
        from dlfa_adapters.ground.files import write_text
        from dlfa_adapters.predict.run import predict_run
        from dlfa_adapters.scores.compare import compare_all
        from dlfa_adapters.scores.show import comparison_markdown, comparison_notes, comparison_tables

    with progress_bars(screen) as progress:
        if data is None:
            models = [read_evaluation(folder) for folder in folders]
        else:
            models = [
                predict_run(
                    run,
                    data,
                    task=task,
                    split=split,
                    languages=language_list(languages),
                    format=format,
                    word_column=word_column,
                    tag_column=tag_column,
                    limit=limit,
                    progress=lambda stage, done, total, name=name: progress(f"{stage} ({name})", done, total),  # type: ignore[misc]
                )
                for name, run in zip(_names(len(runs)), runs, strict=True)
            ]
        found = compare_all(models, resamples=resamples, seed=seed, progress=progress)
    if as_json:
        one, *others = [comparison.to_dict() for comparison in found]
        told = {"format": one["format"], "comparisons": [one, *others]} if others else one
        typer.echo(json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False))
    else:
        for comparison in found:
            show(comparison_tables(comparison), comparison_notes(comparison))
    if markdown is not None:
        write_text(markdown, "\n".join(comparison_markdown(comparison) for comparison in found))


def _names(number: int) -> list[str]:
    """What models are called while they predict: A, B, ..., Z, 27, ..."""
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(number)]
