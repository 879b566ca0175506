"""`dlfa adapt`: the unlabelled text of a domain in, an encoder that knows it out."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.from_dataclasses import STEPS, TEXT
from dlfa_cli.masked import (
    BatchSize,
    Compile,
    Every,
    GradientCheckpointing,
    MaxLength,
    MicroBatch,
    Precision,
    ReportTo,
    Seed,
    Steps,
    Warmup,
)
from dlfa_cli.options import Format, Model, TagColumn, WordColumn, sources
from dlfa_cli.train import check_nothing_else, run_training

if TYPE_CHECKING:
    from dlfa_adapters.learning import Adapted


def adapt(
    context: typer.Context,
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA]...", help="A file, a folder, hub:NAME or samples:NAME; several: LANGUAGE=FILE for each."
        ),
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task that the data are of: ner, pawsx...")] = None,
    model: Model = "offline",
    learns: Annotated[
        str, typer.Option(help="What learns: full, freeze:N, lora, lora:RANK (added to the weights), or adapter.")
    ] = "full",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder; default: adapted/TASK, or adapted/domain.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the adaptation of this folder that was cut short.")
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(
            "--languages", "-l", help="Languages of the text, such as en,de; default: all.", rich_help_panel=TEXT
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="`train`, `dev` or `test` of the data.", rich_help_panel=TEXT)] = "train",
    whole_words: Annotated[
        bool, typer.Option("--whole-words", help="Hide all pieces of a word or none of them.", rich_help_panel=TEXT)
    ] = False,
    split_pairs: Annotated[
        bool,
        typer.Option("--split-pairs", help="Read the two texts of a pair as two texts.", rich_help_panel=TEXT),
    ] = False,
    steps: Steps = 2000,
    batch_size: BatchSize = 64,
    max_length: MaxLength = None,
    lr: Annotated[
        float | None,
        typer.Option(help="Learning rate; default: 5e-5, of LoRA and adapters 5e-4.", rich_help_panel=STEPS),
    ] = None,
    decoder_lr: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of the decoder; default: 3e-3 of a new one, else --lr.", rich_help_panel=STEPS
        ),
    ] = None,
    warmup: Warmup = 0.1,
    every: Every = 500,
    seed: Seed = 0,
    micro_batch: MicroBatch = None,
    precision: Precision = None,
    gradient_checkpointing: GradientCheckpointing = False,
    compile: Compile = False,
    report_to: ReportTo = "none",
    format: Format = None,
    word_column: WordColumn = None,
    tag_column: TagColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print adapted.json on stdout.")] = False,
) -> None:
    """Go on training an encoder on unlabelled text by masked language modelling, before it learns a task.

    Labels of the data are not looked at. Pairs of texts stay pairs. What comes out is the name of an encoder.

    Examples:
    `dlfa adapt download/panx --task ner --languages en,de,sw`

    `dlfa train ner --train download/panx --model adapted/ner`

    `dlfa adapt en=en.txt sw=sw.txt --learns lora --whole-words --out adapted/news`

    `dlfa adapt --resume adapted/news`
    """
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_adapters.learning.adapt.options import ADAPTED, check_adaptation
    from dlfa_adapters.learning.checks import LANGUAGE_RECORD, check_resume

    text = sources(source, "DATA")
    given: dict[str, Any] = {
        "task": task, "model": model, "learns": learns, "out": out, "languages": languages, "split": split,
        "whole_words": whole_words, "split_pairs": split_pairs, "steps": steps, "batch_size": batch_size,
        "max_length": max_length, "learning_rate": lr, "head_learning_rate": decoder_lr, "warmup": warmup,
        "every": every, "seed": seed, "micro_batch_size": micro_batch, "precision": precision,
        "gradient_checkpointing": gradient_checkpointing, "compile": compile, "report_to": report_to,
        "format": format, "word_column": word_column, "tag_column": tag_column,
    }  # fmt: skip
    if (text is None) == (resume is None):
        raise ConfigError("Give text, or --resume and a folder; type e.g. dlfa adapt download/panx --task ner.")
    if resume is None:
        given["out"] = out or Path(f"adapted/{task or 'domain'}")
        check_adaptation(text, **given)
    else:
        check_nothing_else(context, "source")
        check_resume(resume, (ADAPTED, LANGUAGE_RECORD))

    def load() -> Callable[..., "Adapted"]:
        from dlfa_adapters.learning import adapt_encoder, resume_adaptation

        return partial(resume_adaptation, resume) if resume else partial(adapt_encoder, text or {}, **given)

    run_training(load, "adapt", _show_adapted, attrgetter("record"), as_json)


def _show_adapted(adapted: "Adapted", trained: bool) -> None:
    from dlfa_cli.screen import saved

    measured, record = adapted.record["perplexity"], adapted.record
    how = record["adapter"] if adapted.is_adapter else record["adaptation"]
    untrained = " (before: a decoder that knows frequencies alone)" if how["decoder"] == "new" else ""
    changes = ", ".join(f"{x} {measured['before'][x]:,.1f} to {after:,.1f}" for x, after in measured["after"].items())
    typer.echo(f"Perplexity on {record['text']['held_out']:,} held-out texts{untrained}: {changes}.")
    option = f"--tuning stack:{adapted.folder}" if adapted.is_adapter else f"--model {adapted.folder}"
    typer.echo(f"{saved(adapted.folder, record['training'], trained)} Train a task on it:\n")
    typer.echo(f"  dlfa train {record['training']['task'] or 'TASK'} {option}")
