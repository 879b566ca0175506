"""A model that predicts: inputs of any length, in batches of similar length, as fast as the device goes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.encoded import Encoded

TOKENS = {"cuda": (16384, 4096)}
"""By device: most positions in a batch, padding included, and from how many on its items must be of like lengths.

A GPU is to be filled; there padding costs less than another batch."""

OTHERWISE = (512, 128)
"""The same for every other device: a matrix product is not faster with more, and padding costs its full price."""


class Predictor(ABC):
    """A model with an active head, and how its inputs are cut.

    Args:
        model: A model whose forward gives `logits`.
        tokenizer: Its fast tokenizer.
        labels: Label names by id.

    Attributes:
        counts: What the tokenizer did to the inputs of the call of `predict` that began last, in whatever thread.
        max_length: Most pieces of a row, special ones included.
    """

    counts: Any = None
    max_length: int

    def __init__(self, model: Any, tokenizer: Any, labels: Sequence[str]) -> None:
        self.model, self.tokenizer, self.labels = model.eval(), tokenizer, list(labels)

    @abstractmethod
    def encode(self, inputs: Sequence[Any]) -> Encoded:
        """Inputs, as the kind of the task has them, as rows for the encoder."""

    @torch.no_grad()
    def run(
        self,
        encoded: Encoded,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """The predictions of inputs that `encode` made rows of, in their order."""
        found = [
            (rows, encoded.best(rows, logits))
            for rows, logits in batch_logits(self.model, encoded, self.tokenizer.pad_token_id, max_tokens, on_progress)
        ]
        return encoded.collect(found)

    def answer(self, inputs: Sequence[Any], on_progress: Callable[[int], None] | None = None) -> tuple[list[Any], Any]:
        """The predictions of inputs, and what the tokenizer did to them; safe in several threads at once."""
        encoded = self.encode(inputs)
        return self.run(encoded, on_progress=on_progress), encoded.counts

    def use_language(self, language: str | Path) -> str:
        """Read what follows with another language's adapter; see `LanguageMixin.use_language`.

        Args:
            language: A folder, or the name of an adapter that the model has.

        Returns:
            The adapter's name in the model.

        Raises:
            ConfigError: If the model was not trained over a language adapter, or this one does not fit it.
        """
        if not hasattr(self.model, "use_language"):
            raise ConfigError(
                f"This {type(self.model).__name__} has no language adapter to change; train with --tuning stack:FOLDER."
            )
        return str(self.model.use_language(language))


def batch_logits(
    model: Any,
    encoded: Encoded,
    pad_token_id: int | None,
    max_tokens: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[list[int], Tensor]]:
    """The logits of all rows, batch by batch.

    Nothing here waits for a GPU: while it computes, the next batch is padded. Whoever reads numbers out of the logits
    does so when all batches are through.

    Args:
        model: A model.
        encoded: The rows.
        pad_token_id: The tokenizer's.
        max_tokens: Positions in a batch, padding included; the default depends on the device.
        on_progress: Called with the number of rows that were just given to the model.

    Yields:
        Numbers of the rows of a batch, and their logits; every row is in one batch.
    """
    device, rows = model.device, encoded.rows
    most, enough = TOKENS.get(device.type, OTHERWISE)
    lengths = [len(row.input_ids) for row in rows]
    for batch in token_budget_batches(lengths, max_tokens or most, enough=min(enough, max_tokens or enough)):
        padded = encoded.collate([rows[i] for i in batch], pad_token_id)
        inputs = {name: x.to(device) for name, x in padded.items()}
        with _attention(device.type):
            logits = encoded.logits_of(model(**inputs))
        yield batch, logits
        if on_progress is not None:
            on_progress(len(batch))


def _attention(device: str) -> AbstractContextManager[Any]:
    """On a GPU any attention kernel but cuDNN's, which is built anew for every size of a batch."""
    others = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return sdpa_kernel(others) if device == "cuda" else nullcontext()
