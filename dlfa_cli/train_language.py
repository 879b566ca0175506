"""`dlfa train-language`: plain text in, a language adapter out."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlfa_cli.from_dataclasses import STEPS
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
from dlfa_cli.options import Model
from dlfa_cli.train import check_nothing_else, run_training

if TYPE_CHECKING:
    from dlfa_adapters.learning import TrainedLanguage

_ADAPTER = "Adapter"


def train_language(
    context: typer.Context,
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
    steps: Steps = 2000,
    batch_size: BatchSize = 64,
    max_length: MaxLength = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate; default: 5e-4.", rich_help_panel=STEPS)] = None,
    decoder_lr: Annotated[
        float | None, typer.Option(help="Learning rate of the decoder; default: 3e-3.", rich_help_panel=STEPS)
    ] = None,
    warmup: Warmup = 0.1,
    every: Every = 500,
    seed: Seed = 0,
    micro_batch: MicroBatch = None,
    precision: Precision = None,
    gradient_checkpointing: GradientCheckpointing = False,
    compile: Compile = False,
    report_to: ReportTo = "none",
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
    if resume is not None:
        check_nothing_else(context, "language")
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
        check_resume(resume, (LANGUAGE_RECORD,))

    def load() -> Callable[..., "TrainedLanguage"]:
        from dlfa_adapters.learning import resume_language, train_language

        return partial(resume_language, resume) if resume else partial(train_language, str(language), texts, **given)

    run_training(load, "train-language", _show_language, attrgetter("record"), as_json)


def _show_language(adapter: "TrainedLanguage", trained: bool) -> None:
    from dlfa_cli.screen import saved

    record, folder = adapter.record, adapter.folder
    before, after = (f"{record['perplexity'][when]:,.1f} {when}" for when in ("before", "after"))
    untrained = " (with a decoder that knows frequencies alone)" if record["adapter"]["decoder"] == "new" else ""
    typer.echo(f"Perplexity on {record['text']['held_out']:,} held-out paragraphs: {before}{untrained}, {after}.")
    typer.echo(f"{saved(folder, record['training'], trained)} Train over it, or read with it:\n")
    typer.echo(f'  dlfa train ner --tuning stack:{folder}\n  dlfa predict RUN --language-adapter {folder} "…"')
