"""Trainer for language adapters, and perplexity on text that was held out."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.data import SequentialSampler

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.pooling import IGNORED
from dlfa_adapters.learning.dataset import Collator, Row
from dlfa_adapters.learning.trainer import ModularTrainer

_MAX_TOKENS = 4096
"""Positions in a batch when perplexity is measured, padding included."""


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
    collate, loss, count = Collator(pad_token_id), 0.0, 0
    for batch in token_budget_batches([len(row.input_ids) for row in rows], _MAX_TOKENS):
        inputs = {name: tensor.to(model.device) for name, tensor in collate([rows[i] for i in batch]).items()}
        hidden = int((inputs["labels"] != IGNORED).sum())
        loss, count = loss + float(model(**inputs, return_dict=True).loss) * hidden, count + hidden
        on_progress(len(batch))
    return math.exp(loss / count)
