"""`dlfa compare`: two runs on the same data, or two saved evaluations."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlfa_cli.evaluate import MOST_RESAMPLES, RESAMPLES, check_markdown, language_list, print_table

if TYPE_CHECKING:
    from dlfa_adapters.evaluation.compare import Comparison


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run folder, or a saved evaluation.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="For runs: a file, a folder, `samples:NAME` or `hub:NAME`.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="What the data are for, if not for the runs' own task.")] = None,
    split: Annotated[str, typer.Option(help="`train`, `dev` or `test`.")] = "test",
    languages: Annotated[str | None, typer.Option("--languages", "-l", help="Such as `de,sw`.")] = None,
    format: Annotated[str | None, typer.Option("--format", "-f", help="Format of the files.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take the first N items of each language.")] = None,
    resamples: Annotated[int, typer.Option(min=1, max=MOST_RESAMPLES, help="Bootstrap resamples.")] = RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the comparison to this file as Markdown.")] = None,
) -> None:
    """B minus A: the difference in each language and in the means, with paired intervals and p-values.

    Both must have been asked the same words with the same gold labels. Examples:

    `dlfa compare runs/ner-demo runs/ner-xlmr --data download/panx --split dev`

    `dlfa compare runs/ner-demo-evaluated/panx-dev runs/ner-xlmr-evaluated/panx-dev`
    """
    from dlfa_cli.screen import errors_console, progress_bars, quiet_libraries, typed

    screen = errors_console()
    with screen.status("Starting (loading PyTorch and adapters)"):
        from dlfa_adapters.errors import ConfigError
        from dlfa_adapters.evaluation.compare import compare as compare_predictions
        from dlfa_adapters.evaluation.evaluate import predict_run
        from dlfa_adapters.evaluation.render import comparison_markdown
        from dlfa_adapters.evaluation.saved import is_evaluation, read_evaluation
        from dlfa_adapters.runs import read_run

        quiet_libraries()
    saved = [is_evaluation(folder) for folder in (a, b)]
    if data is None and not all(saved):
        folders = [read_run(folder).folder for folder in (a, b) if not is_evaluation(folder)]
        if any(saved):
            raise ConfigError(
                f"A saved evaluation is compared with another one, and {folders[0]} is not one; type: "
                f"dlfa evaluate {typed(folders[0])} --data DATA --save"
            )
        raise ConfigError("Two runs are compared on some data: add --data, e.g. --data samples:ner.")
    if data is not None and any(saved):
        raise ConfigError("A saved evaluation has its data with it: leave --data out, or give two run folders.")
    if markdown is not None:
        check_markdown(markdown)
    runs = [] if data is None else [read_run(folder) for folder in (a, b)]
    with progress_bars(screen) as progress:
        if data is None:
            both = [read_evaluation(folder) for folder in (a, b)]
        else:
            both = [
                predict_run(
                    run,
                    data,
                    task=task,
                    split=split,
                    languages=language_list(languages),
                    format=format,
                    limit=limit,
                    progress=lambda stage, done, total, name=name: progress(f"{stage} ({name})", done, total),  # type: ignore[misc]
                )
                for name, run in zip("AB", runs, strict=True)
            ]
        result = compare_predictions(*both, resamples=resamples, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        _show(result)
    if markdown is not None:
        markdown.write_text(comparison_markdown(result), "utf-8")


def _show(comparison: "Comparison") -> None:
    from dlfa_adapters.evaluation import render
    from dlfa_cli.screen import results_console, visible

    console = results_console()
    for score, title in comparison.titles.items():
        header, rows = render.comparison_header(comparison, score), render.comparison_rows(comparison, score)
        print_table(console, header, rows, f"{title}, by language")
        header, rows = render.comparison_mean_header(comparison, score), render.comparison_mean_rows(comparison, score)
        print_table(console, header, rows, f"{title}, means")
    for note in render.comparison_notes(comparison):
        console.print(visible(note), markup=False)
