"""`dlfa train`: labels in one language in, a run folder out; `dlfa train-language`: plain text in, an adapter out."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dlfa_cli.generated import MACHINE, STEPS, given_options, with_options
from dlfa_cli.options import Format, Model, TagColumn, WordColumn, sources, was_typed

if TYPE_CHECKING:
    from dlfa_adapters.learning import Plan, TrainedLanguage
    from dlfa_adapters.runs import Run

Trained = TypeVar("Trained")
_ADAPTER = "Adapter"


@with_options("TRAINER", "LINEAR_ON_STATES", "LSTM_ON_STATES")
def train(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Argument(help="ner, pos, parse, xnli, pawsx, topic, sentiment; or any name, with the data's labels."),
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
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.checks import check_resume, check_training
    from dlfa_cli.screen import show_training, typed

    given: dict[str, Any] = {
        "train_data": sources(train_source, "--train"), "dev_data": sources(dev_source, "--dev"),
        "language": language, "labels": labels, "model": model, "tuning": tuning, "out": out,
        **given_options(context), "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if resume is not None:
        _check_nothing_else(context)
    if (task is None) == (resume is None):
        raise ConfigError("Give a task, or --resume and a run folder; type e.g. dlfa train ner.")
    if resume is None:
        check_training(str(task), **given)
    else:
        check_resume(resume)
    begun: list[Plan] = []

    def load() -> Callable[..., "Run"]:
        from dlfa_adapters.learning import resume_training, train

        return partial(resume_training, resume) if resume else partial(train, str(task), **given)

    def lines(plan: "Plan") -> Iterable[str]:
        begun.append(plan)
        return *plan.lines(), *plan.notes

    run = _run(load, lines, lambda: f"type dlfa train --resume {typed(begun[0].out)} to go on" if begun else "")
    if run is not None and as_json:
        typer.echo(json.dumps(run.config, ensure_ascii=False, indent=1))
    elif run is not None:
        show_training(run, trained=bool(begun))


def _check_nothing_else(context: typer.Context) -> None:
    """Refuse options beside --resume, which goes on with those of the beginning."""
    from dlfa_adapters.ground.errors import ConfigError

    named = [
        max(each.opts, key=len)
        for each in context.command.get_params(context)
        if each.name not in ("task", "resume", "as_json") and was_typed(context, str(each.name))
    ]
    if named:
        raise ConfigError(f"--resume goes on with the options of the beginning; leave out {', '.join(named)}.")


def train_language(
    language: Annotated[str | None, typer.Argument(help="Name of the adapter, such as de or sw.")] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="A UTF-8 file, one paragraph a line; several times for several.")
    ] = None,
    format: Annotated[
        str,
        typer.Option("--format", "-f", help="text; or wikiann, conllu...: the words of labelled data, without labels."),
    ] = "text",
    model: Model = "offline",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The adapter's folder; default: adapters/LANGUAGE.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the training of this folder that was cut short.")
    ] = None,
    config: Annotated[
        str,
        typer.Option(help="seq_bn_inv, seq_bn, double_seq_bn_inv, double_seq_bn.", rich_help_panel=_ADAPTER),
    ] = "seq_bn_inv",
    reduction: Annotated[float, typer.Option(help="Inner width: the encoder's by this.", rich_help_panel=_ADAPTER)] = 2,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Blocks without adapter, e.g. 1-6; the last one in MAD-X 2.0.", rich_help_panel=_ADAPTER),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of the optimiser.", rich_help_panel=STEPS)] = 2000,
    batch_size: Annotated[int, typer.Option(help="Rows in a step, over all processes.", rich_help_panel=STEPS)] = 64,
    max_length: Annotated[int, typer.Option(help="Pieces in a row.", rich_help_panel=STEPS)] = 128,
    lr: Annotated[float | None, typer.Option(help="Learning rate; default: 5e-4.", rich_help_panel=STEPS)] = None,
    decoder_lr: Annotated[
        float | None, typer.Option(help="Learning rate of the decoder; default: 3e-3.", rich_help_panel=STEPS)
    ] = None,
    warmup: Annotated[
        float,
        typer.Option(help="Share of the steps with a rising rate.", rich_help_panel=STEPS),
    ] = 0.1,
    every: Annotated[int, typer.Option(help="Write a checkpoint every so many steps.", rich_help_panel=STEPS)] = 500,
    seed: Annotated[int, typer.Option(help="Seed of first weights and of what is masked.", rich_help_panel=STEPS)] = 0,
    micro_batch: Annotated[
        int | None, typer.Option(help="Rows at once; less takes less memory.", rich_help_panel=MACHINE)
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="bf16, fp16, fp32; default: bf16 on a GPU.", rich_help_panel=MACHINE)
    ] = None,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=MACHINE)
    ] = False,
    compile: Annotated[
        bool, typer.Option("--compile", help="torch.compile: takes a minute or two at first.", rich_help_panel=MACHINE)
    ] = False,
    report_to: Annotated[str, typer.Option(help="none, tensorboard, wandb.", rich_help_panel=MACHINE)] = "none",
    as_json: Annotated[bool, typer.Option("--json", help="Print language.json on stdout.")] = False,
) -> None:
    """Train a language adapter on plain text by masked language modelling (MAD-X). The encoder stays as it is.

    Perplexity on paragraphs that are held out is measured before and after. Examples:

    `dlfa train-language sw --text sw.txt`

    `dlfa train-language de --text news.txt --text wiki.txt --steps 10000 --leave-out 12 --out adapters/de`

    `dlfa train-language sw --text panx/sw/train.tsv --format wikiann --model xlm-roberta-base`

    `dlfa train-language --resume adapters/de`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.checks import LANGUAGE_RECORD, check_language_training, check_resume
    from dlfa_adapters.learning.ranges import parse_numbers

    texts = text or []
    given: dict[str, Any] = {
        "format": format, "model": model, "out": out, "config": config, "reduction": reduction,
        "leave_out": parse_numbers(",".join(leave_out), "blocks") if leave_out else [], "steps": steps,
        "batch_size": batch_size, "max_length": max_length, "learning_rate": lr, "head_learning_rate": decoder_lr,
        "warmup": warmup, "every": every, "seed": seed, "micro_batch_size": micro_batch, "precision": precision,
        "gradient_checkpointing": gradient_checkpointing, "compile": compile, "report_to": report_to,
    }  # fmt: skip
    if bool(language and texts) == (resume is not None) or bool(language) != bool(texts):
        raise ConfigError(
            "Give a language and its text, or --resume and a folder; type e.g. dlfa train-language sw --text sw.txt."
        )
    if resume is None:
        check_language_training(str(language), texts, **given)
    else:
        check_resume(resume, LANGUAGE_RECORD)

    def load() -> Callable[..., "TrainedLanguage"]:
        from dlfa_adapters.learning import resume_language, train_language

        return partial(resume_language, resume) if resume else partial(train_language, str(language), texts, **given)

    trained = _run(load, lambda plan: plan.lines())
    if trained is not None and as_json:
        typer.echo(json.dumps(trained.record, ensure_ascii=False, indent=1))
    elif trained is not None:
        _show_language(trained)


def _run(
    load: Callable[[], Callable[..., Trained]],
    lines: Callable[[Any], Iterable[str]],
    how_to_go_on: Callable[[], str] = lambda: "",
) -> Trained | None:
    """Load what `load` gives and train, with `lines` on the plan first; None in all processes but the main one."""
    from dlfa_cli.screen import loading, print_lines, progress_bars, stopped_with

    with loading() as screen:
        from dlfa_adapters.ground.environment import is_main, leave

        work = load()
    screen.quiet = not is_main()
    with progress_bars(screen) as progress, stopped_with(how_to_go_on):
        trained = work(on_start=lambda plan: print_lines(screen, lines(plan)), progress=progress)
    leave()
    return trained if is_main() else None


def _show_language(trained: "TrainedLanguage") -> None:
    record, folder = trained.record, trained.folder
    before, after = (f"{record['perplexity'][when]:,.1f} {when}" for when in ("before", "after"))
    untrained = " (with a decoder that knows frequencies alone)" if record["adapter"]["decoder"] == "new" else ""
    typer.echo(f"Perplexity on {record['text']['held_out']:,} held-out paragraphs: {before}{untrained}, {after}.")
    typer.echo(f"Saved in {folder} after {record['training']['seconds']:.0f} s. Train over it, or read with it:\n")
    typer.echo(f'  dlfa train ner --tuning stack:{folder}\n  dlfa predict RUN --language-adapter {folder} "…"')
