"""`dlfa train`: labels in one language in, a run folder out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.generated import given_options, with_options
from dlfa_cli.options import Format, TagColumn, WordColumn, sources

if TYPE_CHECKING:
    from dlfa_adapters.learning import Plan
    from dlfa_adapters.runs import Run


@with_options("TRAINER", "LINEAR_ON_STATES", "LSTM_ON_STATES")
def train(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Argument(help="ner, pos, xnli, pawsx, topic, sentiment; or any name, with the labels of the data."),
    ] = None,
    train_source: Annotated[
        list[str] | None,
        typer.Option("--train", help="A file, a folder, hub:NAME or samples:NAME; several: LANGUAGE=FILE for each."),
    ] = None,
    dev_source: Annotated[
        list[str] | None, typer.Option("--dev", help="Dev data, in the same languages; `none` for none.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Source language, or several: en,de; default: en, or by file name."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Where a known task's data have other labels: `data` takes them, `task` does not."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="`offline` (from the package index), a folder, or a name on the hub.")
    ] = "offline",
    tuning: Annotated[
        str | None,
        typer.Option(
            "--tuning",
            "-t",
            help="full, freeze:N, lora, peft-lora, bottleneck, stack:FOLDER, features; "
            "default: lora with a GPU, else features.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The run folder; default: runs/TASK-TUNING.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the training of this run folder that was cut short.")
    ] = None,
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print run.json on stdout.")] = False,
) -> None:
    """Train on labels in one language; the best checkpoint on dev data of that language is kept.

    Without a GPU the encoder stays frozen (`features`); with one it gets LoRA. Examples:

    `dlfa train ner --fuse-layer 8`

    `dlfa train my-ner --train train.conll --dev dev.conll --language en --out runs/mine`

    `dlfa train xnli --train xtreme/ --model xlm-roberta-base --tuning full --fuse-layer 11`

    `dlfa train pos --tuning features --fusion scalar_mix --classifier bilstm`

    `dlfa train --resume runs/mine`

    `torchrun --nproc-per-node 2 -m dlfa_cli train ner --tuning full`
    """
    given = {
        "train_data": sources(train_source, "--train"), "dev_data": sources(dev_source, "--dev"),
        "language": language, "labels": labels, "model": model, "tuning": tuning, "out": out,
        **given_options(context), "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if resume is not None:
        _check_nothing_else(context)
    from dlfa_cli.screen import show_training

    run, trained = _run(task, resume, given)
    if run is not None and as_json:
        typer.echo(json.dumps(run.config, ensure_ascii=False, indent=1))
    elif run is not None:
        show_training(run, trained)


def _check_nothing_else(context: typer.Context) -> None:
    """Refuse options beside --resume, which goes on with those of the beginning."""
    from dlfa_adapters.ground.errors import ConfigError

    taken = {"task", "resume", "as_json"}
    named = [
        max(parameter.opts, key=len)
        for parameter in context.command.get_params(context)
        if parameter.name not in taken
        and (source := context.get_parameter_source(str(parameter.name))) is not None
        and source.name == "COMMANDLINE"
    ]
    if named:
        raise ConfigError(f"--resume goes on with the options of the beginning; leave out {', '.join(named)}.")


def _run(task: str | None, resume: Path | None, given: dict[str, Any]) -> tuple["Run | None", bool]:
    """Train; the run, or None in all processes but the main one, and whether there was anything left to train."""
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.early import check_resume, check_training
    from dlfa_cli.ends import stopped_with
    from dlfa_cli.screen import announce_training, loading, progress_bars, typed

    if (task is None) == (resume is None):
        raise ConfigError("Give a task, or --resume and a run folder; type e.g. dlfa train ner.")
    if resume is None:
        check_training(str(task), **given)
    else:
        check_resume(resume)
    with loading() as screen:
        from dlfa_adapters.ground.running import is_main, leave
        from dlfa_adapters.learning import resume_training, train

    screen.quiet = not is_main()
    begun: list[Plan] = []

    def begin(plan: "Plan") -> None:
        begun.append(plan)
        announce_training(screen, plan)

    def how_to_go_on() -> str:
        return f"type dlfa train --resume {typed(begun[0].out)} to go on" if begun else ""

    with progress_bars(screen) as progress, stopped_with(how_to_go_on):
        options: dict[str, Any] = {"on_start": begin, "progress": progress}
        run = resume_training(resume, **options) if resume else train(str(task), **given, **options)
    leave()
    return run if is_main() else None, bool(begun)
