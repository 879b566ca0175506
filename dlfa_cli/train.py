"""`dlfa train`: labels in one language in, a run folder out."""

import json
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dlfa_cli.from_dataclasses import given_options, with_options
from dlfa_cli.options import Format, Model, TagColumn, WordColumn, sources, was_typed

if TYPE_CHECKING:
    from dlfa_adapters.runs import Run

Trained = TypeVar("Trained")


@with_options("TRAINER", "LINEAR_ON_STATES", "LSTM_ON_STATES")
def train(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Argument(
            help="ner, pos, parse, xnli, pawsx, topic, sentiment, marc; or any name, with the data's labels."
        ),
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
    model: Model = "offline",
    tuning: Annotated[
        str | None,
        typer.Option(
            "--tuning",
            "-t",
            help="full, freeze:N, lora, peft-lora, bottleneck, stack:FOLDER, features; "
            "default: lora with a GPU, else features.",
        ),
    ] = None,
    adapt: Annotated[
        list[str] | None,
        typer.Option(help="First adapt the encoder to this text, as `dlfa adapt` does; several: LANGUAGE=FILE."),
    ] = None,
    adapt_option: Annotated[
        list[str] | None,
        typer.Option("--adapt-option", metavar="NAME=VALUE", help="Option of `dlfa adapt`, by name; repeatable."),
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

    `dlfa train ner --train download/panx --adapt download/panx --adapt-option languages=en,de,sw`

    `dlfa train --resume runs/mine`

    `torchrun --nproc-per-node 2 -m dlfa_cli train ner --tuning full`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.adapt.options import check_adapted_training, parse_options
    from dlfa_adapters.learning.adapt.place import run_of, training_left
    from dlfa_adapters.learning.checks import check_resume, check_training
    from dlfa_cli.screen import show_training

    given: dict[str, Any] = {
        "train_data": sources(train_source, "--train"), "dev_data": sources(dev_source, "--dev"),
        "language": language, "labels": labels, "model": model, "tuning": tuning, "out": out,
        **given_options(context), "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if resume is not None:
        check_nothing_else(context, "task")
    if (task is None) == (resume is None):
        raise ConfigError("Give a task, or --resume and a run folder; type e.g. dlfa train ner.")
    left = None if resume is None else training_left(resume)
    if adapt:
        given |= {"adapt": sources(adapt, "--adapt"), "adapt_options": parse_options(adapt_option or [])}
    elif adapt_option:
        raise ConfigError("--adapt-option is for --adapt DATA; name text to adapt to, or leave it out.")
    if resume is None:
        (check_adapted_training if adapt else check_training)(str(task), **given)
    elif left is None:
        check_resume(resume)

    def load() -> Callable[..., "Run"]:
        from dlfa_adapters.learning import resume_adapted, resume_training, train, train_adapted

        if left is None and not adapt:
            return partial(resume_training, resume) if resume else partial(train, str(task), **given)
        work: Callable[..., Run] = (
            partial(resume_adapted, resume) if resume else partial(train_adapted, str(task), **given)
        )
        return lambda on_start, progress: work(on_adapt=on_start, on_start=on_start, progress=progress)

    config = attrgetter("config")
    run_training(load, "train", show_training, config, as_json, lambda out: run_of(out) if adapt or left else out)


def check_nothing_else(context: typer.Context, argument: str) -> None:
    """Refuse options beside --resume, which goes on with those of the beginning; `argument` is looked at elsewhere."""
    from dlfa_adapters.ground.errors import ConfigError

    named = [
        max(each.opts, key=len)
        for each in context.command.get_params(context)
        if each.name not in (argument, "resume", "as_json") and was_typed(context, str(each.name))
    ]
    if named:
        raise ConfigError(f"--resume goes on with the options of the beginning; leave out {', '.join(named)}.")


def run_training(
    load: Callable[[], Callable[..., Trained]],
    command: str,
    show: Callable[[Trained, bool], None],
    record: Callable[[Trained], Any],
    as_json: bool,
    place: Callable[[Path], Path] = lambda out: out,
) -> None:
    """Load what `load` gives and train, with the plan told first; the main process tells what came of it.

    Args:
        load: Gives the training.
        command: What goes on with it by --resume, named where it is stopped.
        show: Prints what was trained, and whether there was something left to do.
        record: Of what was trained, for `as_json`.
        as_json: Print the record instead.
        place: The folder to go on with, by the one of a plan.
    """
    from dlfa_cli.screen import loading, print_lines, progress_bars, stopped_with, typed

    with loading() as screen:
        from dlfa_adapters.ground.environment import is_main, leave

        work = load()
    begun: list[Path] = []

    def tell(plan: Any) -> None:
        begun.append(place(plan.out))
        print_lines(screen, (*plan.lines(), *plan.notes))

    screen.quiet = not is_main()
    how_to_go_on = stopped_with(lambda: f"type dlfa {command} --resume {typed(begun[0])} to go on" if begun else "")
    with progress_bars(screen) as progress, how_to_go_on:
        trained = work(on_start=tell, progress=progress)
    leave()
    if is_main() and as_json:
        typer.echo(json.dumps(record(trained), ensure_ascii=False, indent=1))
    elif is_main():
        show(trained, bool(begun))
