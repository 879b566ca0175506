"""A small BERT from scratch, by masked language modelling on text in several languages."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from dlfa_adapters.ground.environment import Progress, device_name
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.finish import machine
from dlfa_adapters.learning.language.loop import perplexity
from dlfa_adapters.learning.language.masking import MaskedDraws
from dlfa_adapters.learning.language.text import mask_paragraphs
from dlfa_adapters.learning.pretrain import Pretrained, Shape, check_pretraining, read_sentences, write_encoder
from dlfa_adapters.learning.pretrain.vocabulary import PIECES, tokenizer_for
from dlfa_adapters.learning.safeguards import check_weights

logger = logging.getLogger(__name__)

_LOG_EVERY = 100  # steps


def pretrain_bert(
    text: Mapping[str, str | Path],
    out: str | Path,
    *,
    sentences: int | None = None,
    window: int = 512,
    shape: Shape | None = None,
    vocabulary: int = PIECES,
    tokenizer: str | Path | None = None,
    pieces: int = 20_000_000,
    pieces_a_step: int = 16_384,
    learning_rate: float = 1e-3,
    warmup: float = 0.1,
    weight_decay: float = 0.01,
    workers: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pretrained:
    """Train a small BERT on some sentences of each language, all languages together and unlabelled.

    Masked language modelling alone, as Devlin et al. 2019, arXiv 1810.04805, mask, and no next-sentence prediction.
    Sentences fill rows of at most `window` pieces, special ones included, in the order of the file; one that is longer
    is cut. Whatever the window, the same number of pieces is learnt from, in steps of as many pieces: what differs is
    how far a piece sees (Liu et al. 2020, arXiv 2004.09205, Section 3.3).

    Args:
        text: A file of each language, a sentence or paragraph a line.
        out: The folder; it must be empty or not there.
        sentences: How many of each language, the first ones; default: all.
        window: Most pieces of a row: 512, or 20 for the short context of the paper.
        shape: How large the model is.
        vocabulary: Pieces of the tokenizer, which is learnt from the same sentences.
        tokenizer: Take that of this encoder instead.
        pieces: How many to learn from in all, each as often as it comes.
        pieces_a_step: In a step of the optimiser.
        learning_rate: Of AdamW; it falls linearly to 0.
        warmup: Share of the steps in which it rises first.
        weight_decay: Of AdamW.
        workers: Processes that mask rows; 0: this one.
        seed: Of first weights, masks and order.
        progress: Called after each step.

    Returns:
        The folder, with perplexity on held-out sentences, which are cut to the same window.

    Raises:
        ConfigError: If an option has a value that cannot work, or the folder is there.
        DataError: If a file cannot be read, or there is too little text.
        RunError: If the training diverges.
    """
    out, shape, report = Path(out), shape or Shape(), progress or (lambda stage, done, total: None)
    check_pretraining(text, out, sentences)
    if window > shape.positions:
        raise ConfigError(
            f"window is {window}, but the model reads at most {shape.positions} pieces; type a smaller one."
        )
    read = read_sentences(text, sentences)
    lines = [line for of_one in read.values() for line in of_one]
    pieces_of = tokenizer_for(lines, vocabulary, shape.positions, tokenizer)
    masked = mask_paragraphs(lines, pieces_of, str(next(iter(text.values()))), max_length=window, count=1, seed=seed)
    mean = masked.about["pieces"] / masked.about["rows"]
    batch = max(1, round(pieces_a_step / mean))
    steps = max(1, round(pieces / (batch * mean)))
    rows = MaskedDraws(masked.rows.source, masked.rows.mask, steps * batch, seed)

    set_seed(seed)
    model = BertForMaskedLM(_config(shape, pieces_of))
    began = time.monotonic()
    with TemporaryDirectory() as nothing:  # Trainer wants a folder, and writes nothing into it
        arguments = _arguments(
            nothing, steps, batch, seed, workers,
            learning_rate=learning_rate, warmup_ratio=warmup, weight_decay=weight_decay,
        )  # fmt: skip
        collate = masked.collator(pieces_of.pad_token_id)
        trainer = Trainer(
            model, arguments, train_dataset=rows, data_collator=collate, callbacks=[_Steps(report, steps)]
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    check_weights(model)
    found = perplexity(model, masked.held_out, pieces_of.pad_token_id, lambda done: None)
    record = {
        "kind": "bert",
        "languages": {language: len(lines) for language, lines in read.items()},
        "files": {language: str(file) for language, file in text.items()},
        "text": masked.about,
        "window": window,
        "shape": asdict(shape),
        "vocabulary": len(pieces_of),
        "training": {
            "steps": steps, "rows_a_step": batch, "pieces": round(steps * batch * mean), "learning_rate": learning_rate,
            "warmup": warmup, "weight_decay": weight_decay, "seed": seed,
            "seconds": round(time.monotonic() - began, 1), **machine(),
        },
        "perplexity": found,
    }  # fmt: skip
    logger.info("%s: perplexity %.1f after %d steps on %s", out, found, steps, device_name())
    return write_encoder(out, record, model, pieces_of)


def _config(shape: Shape, tokenizer: Any) -> BertConfig:
    return BertConfig(
        vocab_size=len(tokenizer), hidden_size=shape.width, num_hidden_layers=shape.blocks,
        num_attention_heads=shape.heads, intermediate_size=4 * shape.width, max_position_embeddings=shape.positions,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip


def _arguments(
    folder: str, steps: int, batch: int, seed: int, workers: int, **of_the_optimizer: float
) -> TrainingArguments:
    gpu = torch.cuda.is_available()
    os.environ["ACCELERATE_MIXED_PRECISION"] = "bf16" if gpu else "no"  # see `learning.arguments.training_arguments`
    arguments = TrainingArguments(
        output_dir=folder, max_steps=steps, per_device_train_batch_size=batch, seed=seed, bf16=gpu, use_cpu=not gpu,
        save_strategy="no", logging_steps=_LOG_EVERY, report_to="none", disable_tqdm=True, remove_unused_columns=False,
        dataloader_num_workers=workers, optim="adamw_torch_fused" if gpu else "adamw_torch", **of_the_optimizer,
    )  # fmt: skip
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


class _Steps(TrainerCallback):
    """Reports the steps."""

    def __init__(self, report: Progress, steps: int) -> None:
        self.report, self.steps = report, steps
        report("Pre-training", 0, steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.report("Pre-training", 1, self.steps)
