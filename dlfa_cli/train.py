"""`dlfa train`: labels in one language in, a run folder out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.options import (
    MACHINE,
    Compile,
    Format,
    GradientCheckpointing,
    Precision,
    ReportTo,
    States,
    TagColumn,
    WordColumn,
    rates,
    sources,
)

if TYPE_CHECKING:
    from dlfa_adapters.learning import Plan
    from dlfa_adapters.runs import Run

_HEAD, _STEPS = "Head", "Steps"


def train(
    context_of_call: typer.Context,
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
    fuse_layer: Annotated[
        list[str] | None,
        typer.Option(
            "--fuse-layer", "-k", help="Layer to fuse, several times for several; auto: chosen.", rich_help_panel=_HEAD
        ),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(help="For -k auto: a file of sentences, TAB, translations, to choose by.", rich_help_panel=_HEAD),
    ] = None,
    target_text: Annotated[
        str | None,
        typer.Option(help="For -k auto: a file of text in a target language, to choose by.", rich_help_panel=_HEAD),
    ] = None,
    fusion: Annotated[str, typer.Option(help="dlfa, last, layer, scalar_mix, concat.", rich_help_panel=_HEAD)] = "dlfa",
    gate: Annotated[
        str | None, typer.Option(help="product, or attention (features: the default).", rich_help_panel=_HEAD)
    ] = None,
    branches: Annotated[str, typer.Option(help="both, global, local.", rich_help_panel=_HEAD)] = "both",
    norm: Annotated[str, typer.Option(help="batch, layer, none.", rich_help_panel=_HEAD)] = "batch",
    init: Annotated[str, typer.Option(help="kaiming, identity.", rich_help_panel=_HEAD)] = "kaiming",
    reduction: Annotated[
        float, typer.Option(help="The inner width is that of the encoder divided by this.", rich_help_panel=_HEAD)
    ] = 4,
    pooling: Annotated[
        str, typer.Option(help="Piece that carries a word's label: first, last, mean.", rich_help_panel=_HEAD)
    ] = "first",
    classifier: Annotated[
        str, typer.Option(help="linear, or bilstm: a two-layer LSTM above the fusion.", rich_help_panel=_HEAD)
    ] = "linear",
    lstm_hidden: Annotated[int, typer.Option(help="bilstm: units in each direction.", rich_help_panel=_HEAD)] = 256,
    lstm_dropout: Annotated[float, typer.Option(help="bilstm: dropout between layers.", rich_help_panel=_HEAD)] = 0.1,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data; default: the tuning's.", rich_help_panel=_STEPS)
    ] = None,
    min_steps: Annotated[
        int | None,
        typer.Option(help="Small data get at least so many; default: 500, 0 with --epochs.", rich_help_panel=_STEPS),
    ] = None,
    max_steps: Annotated[int, typer.Option(help="Stop after so many steps.", rich_help_panel=_STEPS)] = -1,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate; default: the tuning's.", rich_help_panel=_STEPS)
    ] = None,
    head_lr: Annotated[
        str | None,
        typer.Option(
            help="Rate of the head; features: or several to try, e.g. 1e-3,1e-2, of which dev takes the best.",
            rich_help_panel=_STEPS,
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Items in a step, over all processes.", rich_help_panel=_STEPS)] = 32,
    warmup: Annotated[
        float, typer.Option(help="Share of the steps in which the learning rate rises.", rich_help_panel=_STEPS)
    ] = 0.1,
    within: Annotated[
        float,
        typer.Option(help="features: keep the first epoch within so many points of the best.", rich_help_panel=_STEPS),
    ] = 0.0,
    patience: Annotated[
        int, typer.Option(help="Stop after so many evaluations that are no better; 0: never.", rich_help_panel=_STEPS)
    ] = 0,
    every: Annotated[
        int | None,
        typer.Option(
            help="Evaluate and checkpoint every so many steps; default: each epoch, or every few short ones.",
            rich_help_panel=_STEPS,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of first weights, order and dropout.", rich_help_panel=_STEPS)] = 0,
    max_length: Annotated[int, typer.Option(help="Pieces in a window or text.", rich_help_panel=_STEPS)] = 128,
    context: Annotated[
        int, typer.Option(help="Pieces that windows of a long sentence share.", rich_help_panel=_STEPS)
    ] = 64,
    micro_batch: Annotated[
        int | None, typer.Option(help="Items at once; less takes less memory.", rich_help_panel=MACHINE)
    ] = None,
    precision: Precision = None,
    gradient_checkpointing: GradientCheckpointing = False,
    compile: Compile = False,
    report_to: ReportTo = "none",
    states: States = None,
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
        "fuse_layer": _layers(fuse_layer or []), "parallel": parallel, "target_text": target_text,
        "fusion": fusion, "gate": gate, "branches": branches, "norm": norm, "init": init, "reduction": reduction,
        "pooling": pooling, "classifier": classifier, "lstm_hidden": lstm_hidden, "lstm_dropout": lstm_dropout,
        "epochs": epochs, "min_steps": min_steps, "max_steps": max_steps, "learning_rate": lr,
        "head_learning_rate": rates(head_lr, "--head-lr"),
        "batch_size": batch_size, "warmup": warmup, "within": within, "patience": patience, "every": every,
        "seed": seed, "max_length": max_length, "context": context, "micro_batch_size": micro_batch,
        "precision": precision, "gradient_checkpointing": gradient_checkpointing, "compile": compile, "states": states,
        "report_to": report_to, "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if resume is not None:
        _check_nothing_else(context_of_call)
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
        for parameter in context.command.params
        if parameter.name not in taken
        and (source := context.get_parameter_source(str(parameter.name))) is not None
        and source.name == "COMMANDLINE"
    ]
    if named:
        raise ConfigError(f"--resume goes on with the options of the beginning; leave out {', '.join(named)}.")


def _layers(given: list[str]) -> tuple[int, ...] | str | None:
    """Layers, `auto`, or None where nothing was given."""
    if not all(layer.isdecimal() for layer in given) and given != ["auto"]:
        raise typer.BadParameter(
            f"expected layer numbers, or auto alone, got {' '.join(given)}", param_hint="--fuse-layer"
        )
    return "auto" if given == ["auto"] else tuple(map(int, given)) or None


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
