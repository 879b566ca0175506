"""`dlfa report`: a page of an evaluation or a sweep."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, a saved evaluation, or a sweep.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; default: RUN.html beside it.")] = None,
) -> None:
    """Write an HTML page: scores by language, mistakes, examples, configuration. It loads nothing and can be sent on.

    A run must have been evaluated with `--save`. Examples:

    `dlfa report runs/ner-demo`

    `dlfa report runs/ner-demo-evaluated/panx-dev --out panx.html`

    `dlfa report runs/ner-sweep`
    """
    from dlfa_adapters.runs import read_run
    from dlfa_adapters.scores.saved import is_evaluation
    from dlfa_cli.screen import errors_console

    sweep = source.name == "sweep.json" or any((source / name).is_file() for name in ("sweep.json", "plan.json"))
    if not sweep and not is_evaluation(source):
        read_run(source)
    with errors_console().status("Writing the report"):
        from dlfa_adapters.report import write_report

        file = write_report(source, out)
    typer.echo(file)
