"""`train_language`: plain text in, a language adapter out. `dlfa train-language` is the same on the command line."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch.utils.data import SequentialSampler
from transformers import TrainerState, set_seed

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.environment import Progress, is_main, wait_for_everyone
from dlfa_adapters.heads.decoder import pretrained_decoder, save_decoder
from dlfa_adapters.heads.language import RECORD, read_record
from dlfa_adapters.kinds.encoded import Row, collate_rows
from dlfa_adapters.learning.arguments import training_arguments
from dlfa_adapters.learning.finish import machine
from dlfa_adapters.learning.language import (
    LanguagePlan,
    TrainedLanguage,
    as_options,
    check_length,
    language_settings,
)
from dlfa_adapters.learning.language.text import MaskedText, mask_text
from dlfa_adapters.learning.safeguards import check_weights, last_checkpoint
from dlfa_adapters.learning.trainer import ModularTrainer
from dlfa_adapters.runs.lifecycle import Training, request_left
from dlfa_adapters.tuning import parameter_report, trainable_share
from dlfa_adapters.tuning.bottleneck import LanguageTuning

logger = logging.getLogger(__name__)

_DECODER = "masked_lm"
_MAX_TOKENS = 4096
"""Positions in a batch when perplexity is measured, padding included."""


def train_language(
    language: str,
    text: str | Path | Sequence[str | Path],
    *,
    format: str = "text",
    model: str = "offline",
    out: str | Path | None = None,
    config: str = "seq_bn_inv",
    reduction: float = 2,
    leave_out: Sequence[int] = (),
    steps: int = 2000,
    resume: bool = False,
    on_start: Callable[[LanguagePlan], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> TrainedLanguage:
    """Train a language adapter by masked language modelling (MAD-X, Pfeiffer et al. 2020, arXiv 2005.00052).

    The encoder stays as it is. The decoder is the checkpoint's own where it has one; otherwise it is a new one over the
    encoder's input embeddings. It learns too, and is saved beside the adapter (`load_masked_lm`). Killed and called
    again with `resume=True`, a training ends with the weights that it would have had.

    Args:
        language: Name of the adapter, e.g. `de`.
        text: A file, or several.
        format: `text`, one paragraph a line; or another reader's name, whose words are taken without their tags.
        model: `offline`, a folder, or a name on the hub.
        out: The folder; `adapters/LANGUAGE` by default. An earlier adapter there is replaced.
        config: `seq_bn_inv`, `seq_bn`, `double_seq_bn_inv` or `double_seq_bn`; `inv` has an invertible part.
        reduction: The width of the bottlenecks is the encoder's divided by this.
        leave_out: Blocks, from 1, that get no adapter; the last one in MAD-X 2.0.
        steps: Steps of the optimiser.
        resume: Go on with the training of `out` that was cut short.
        on_start: Called before the first step.
        progress: Called after each step.
        **options: Fields of `Settings` that are in `language.LANGUAGE_OPTIONS`, e.g. `batch_size=64`, `max_length=128`.

    Returns:
        The adapter's folder, with perplexity on held-out paragraphs before and after.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the text cannot be read, or is too little.
        RunError: If the training diverges, or there is nothing to resume.
    """
    tuning = LanguageTuning(language, config, reduction, leave_out)
    settings = language_settings(tuning, steps, options)
    files = [text] if isinstance(text, str | Path) else list(text)
    out = Path(out or f"adapters/{language}")
    report = progress or (lambda stage, done, total: None)
    training = Training(out, RECORD)
    request = {
        "language": language, "text": [str(file) for file in files], "format": format, "model": model,
        "config": config, "reduction": reduction, "leave_out": tuning.leave_out, "steps": steps,
        **as_options(settings),
    }  # fmt: skip
    if training.go_on(resume):
        return _read(out)

    report("Loading encoder and text", 0, 1)
    encoder = load_encoder(model)
    described = encoder.describe()
    check_length(settings.text.max_length, encoder)
    tuning.decoder = pretrained_decoder(model, encoder.model.config)
    masked = mask_text(
        files, format, encoder.tokenizer,
        max_length=settings.text.max_length, count=steps * settings.steps.batch_size, seed=settings.steps.seed,
    )  # fmt: skip
    set_seed(settings.steps.seed)
    tuning.prepare(encoder.model, _DECODER)
    if tuning.decoder is None:
        head = encoder.model.heads[_DECODER]
        head.expect(masked.counts(len(head.bias)))
    plan = LanguagePlan(tuning, settings, encoder, masked.about, parameter_report(encoder.model))
    report("Loading encoder and text", 1, 1)

    with training.alone(request, described["fingerprint"], masked.about):
        if on_start is not None:
            on_start(plan)
        else:
            for line in plan.lines():
                logger.info(line)
        measured, seconds = _learn(plan, masked, training, report)
        check_weights(plan.encoder.model)
        if is_main():
            _write(training, plan, described, measured, seconds)
    wait_for_everyone()
    return _read(out)


def resume_language(
    out: str | Path, on_start: Callable[[LanguagePlan], None] | None = None, progress: Progress | None = None
) -> TrainedLanguage:
    """Go on with a training that was cut short, with the arguments it was started with; see `train_language`.

    If it had ended, its adapter is what comes back.

    Raises:
        RunError: If there is nothing to resume, or text or encoder have changed.
    """
    out = Path(out)
    request = request_left(out, RECORD)
    if request is None:
        return _read(out)
    return train_language(**request, out=out, resume=True, on_start=on_start, progress=progress)


class LanguageTrainer(ModularTrainer):
    """Trains adapter and decoder on rows in the order in which they are drawn."""

    def _get_train_sampler(self: Any, train_dataset: Any = None) -> Any:
        return SequentialSampler(train_dataset or self.train_dataset)

    def bare_model(self: Any) -> Any:
        """The model without what several processes put around it, and mixed precision onto it: a forward of its own."""
        self.model.__dict__.pop("forward", None)
        return self.model


@torch.no_grad()
def perplexity(model: Any, rows: Sequence[Row], pad_token_id: int | None, on_progress: Callable[[int], None]) -> float:
    """The exponential of the mean loss over all hidden pieces, each counted once.

    Args:
        model: A model with an active `MaskedLMHead`; in eval mode afterwards.
        rows: Rows with hidden pieces.
        pad_token_id: The tokenizer's.
        on_progress: Called with the number of rows that were just done.
    """
    model.eval()
    loss, count = 0.0, 0
    for batch in token_budget_batches([len(row.input_ids) for row in rows], _MAX_TOKENS):
        padded = collate_rows([rows[i] for i in batch], pad_token_id)
        inputs = {name: tensor.to(model.device) for name, tensor in padded.items()}
        hidden = int((inputs["labels"] != IGNORED).sum())
        loss, count = loss + float(model(**inputs, return_dict=True).loss) * hidden, count + hidden
        on_progress(len(batch))
    return math.exp(loss / count)


def _learn(
    plan: LanguagePlan, text: MaskedText, training: Training, report: Progress
) -> tuple[dict[str, float], float]:
    """Train, from the last complete checkpoint where there is one; perplexity before and after, and the seconds."""
    settings, model, pad = plan.settings, plan.encoder.model, plan.encoder.tokenizer.pad_token_id
    args = training_arguments(  # which connects the processes
        settings, training.folder, has_dev=False, find_unused=False, compile_model=settings.machine.compile
    )
    checkpoint = last_checkpoint(training.folder, training.before is not None)
    done = TrainerState.load_from_json(str(checkpoint / "trainer_state.json")).global_step if checkpoint else 0
    began, measured, rows = time.monotonic(), {}, len(text.held_out)
    trainer = LanguageTrainer(
        model,
        args,
        settings=settings,
        pad_token_id=pad,
        train=cast(Any, text),
        dev=None,
        on_step=lambda number: report("Training", 1, settings.steps.max_steps),
    )

    def measure(when: str) -> None:
        if is_main():
            stage = f"Perplexity {when}"
            measured[when] = perplexity(trainer.bare_model(), text.held_out, pad, lambda n: report(stage, n, rows))

    measure("before")
    report("Training", done, settings.steps.max_steps)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    measure("after")
    return measured, round(time.monotonic() - began, 1)


def _write(
    training: Training, plan: LanguagePlan, encoder: dict[str, Any], measured: dict[str, float], seconds: float
) -> None:
    """The adapter as upstream saves it, and the record beside it; both or neither."""
    model, language = plan.encoder.model, plan.tuning.language
    trainable, total = trainable_share(plan.report)
    record = {
        "language": language,
        "adapter": plan.tuning.record(),
        "encoder": encoder,
        "text": plan.text,
        "perplexity": measured,
        "training": {
            "steps": plan.settings.steps.max_steps,
            **as_options(plan.settings),
            "id": training.id,
            "seconds": seconds,
            "trainable_parameters": trainable,
            "parameters": total,
            **machine(),
        },
    }

    def save(draft: Path) -> None:
        model.save_adapter(str(draft), language, with_head=False, use_safetensors=True)
        save_decoder(model.heads[_DECODER], draft)

    training.end(record, save)


def _read(out: Path) -> TrainedLanguage:
    return TrainedLanguage(out, read_record(out) or {})
