"""Masked language modelling with Trainer: rows in the order in which they are drawn, perplexity before and after."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import SequentialSampler
from transformers import TrainerState, set_seed

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.environment import Progress, is_main
from dlfa_adapters.kinds.encoded import Row, collate_rows
from dlfa_adapters.learning.arguments import training_arguments
from dlfa_adapters.learning.language.text import MaskedText
from dlfa_adapters.learning.safeguards import check_weights, last_checkpoint
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.trainer import FullTrainer, ModularTrainer
from dlfa_adapters.runs.lifecycle import Training
from dlfa_adapters.tuning.adaptation import Adaptation
from dlfa_adapters.tuning.bottleneck import LanguageTuning

DECODER = "masked_lm"
"""Name of the head that finds hidden pieces."""

_MAX_TOKENS = 4096
"""Positions in a batch when perplexity is measured, padding included."""


class MaskedMixin:
    """Rows in the order in which they are drawn; no dev data."""

    def _get_train_sampler(self: Any, train_dataset: Any = None) -> Any:
        return SequentialSampler(train_dataset or self.train_dataset)

    def bare_model(self: Any) -> Any:
        """The model without what several processes put around it, and mixed precision onto it: a forward of its own."""
        self.model.__dict__.pop("forward", None)
        return self.model


class LanguageTrainer(MaskedMixin, ModularTrainer):
    """Trains adapter and decoder."""


class EncoderTrainer(MaskedMixin, FullTrainer):
    """Trains the encoder's own weights and the decoder."""


@torch.no_grad()
def perplexity(model: Any, rows: Sequence[Row], pad_token_id: int | None, on_progress: Callable[[int], None]) -> float:
    """The exponential of the mean loss over all hidden pieces of some rows, each counted once.

    The model, which has an active `MaskedLMHead`, is in eval mode afterwards; progress is the number of rows that were
    just done.
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


def put_decoder(tuning: Adaptation | LanguageTuning, encoder: Encoder, text: MaskedText[Any], seed: int) -> None:
    """Put the decoder of a tuning on an encoder; a new one begins with how frequent the pieces of the text are."""
    set_seed(seed)
    tuning.prepare(encoder.model, DECODER)
    if tuning.decoder is None:
        head = encoder.model.heads[DECODER]
        head.expect(text.counts(len(head.bias)))


def learn_masked(
    make: type[Any],
    encoder: Encoder,
    settings: Settings,
    text: MaskedText[Any],
    held_out: Mapping[str, Sequence[Row]],
    training: Training,
    report: Progress,
) -> tuple[dict[str, dict[str, float]], float]:
    """Train an encoder with a decoder on it, from the last complete checkpoint where there is one.

    Returns:
        The perplexity of what is held out, by its names, `before` and `after`, in the main process; and the seconds.
    """
    model, pad = encoder.model, encoder.tokenizer.pad_token_id
    args = training_arguments(  # which connects the processes
        settings, training.folder, has_dev=False, find_unused=False, compile_model=settings.machine.compile
    )
    checkpoint = last_checkpoint(training.folder, training.before is not None)
    done = TrainerState.load_from_json(str(checkpoint / "trainer_state.json")).global_step if checkpoint else 0
    began, measured = time.monotonic(), dict[str, dict[str, float]]()
    trainer = make(
        model,
        args,
        settings=settings,
        pad_token_id=pad,
        train=text,
        dev=None,
        on_step=lambda number: report("Training", 1, settings.steps.max_steps),
    )

    def now(when: str) -> None:
        if is_main():
            bare, stage, total = trainer.bare_model(), f"Perplexity {when}", sum(map(len, held_out.values()))
            measured[when] = {
                name: perplexity(bare, rows, pad, lambda n: report(stage, n, total)) for name, rows in held_out.items()
            }

    now("before")
    report("Training", done, settings.steps.max_steps)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    now("after")
    check_weights(model)
    return measured, round(time.monotonic() - began, 1)
