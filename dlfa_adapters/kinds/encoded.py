"""Inputs as rows for an encoder, predictions from its logits, gold to learn from; and a model that predicts, fast."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.windows import Window
from dlfa_adapters.ground.errors import ConfigError

FoundScores = Iterable[tuple[Sequence[int], Tensor]]
"""Numbers of rows, and their scores; every row is in one of them."""


class Row(NamedTuple):
    """A row that is learned from.

    Attributes:
        input_ids: Pieces, special ones included.
        token_type_ids: See `EncodedText`.
        labels: A label id a piece, or one for the text.
    """

    input_ids: list[int]
    token_type_ids: list[int] | None
    labels: Any


def collate_rows(rows: Sequence[Any], pad_token_id: int | None) -> dict[str, Tensor]:
    """Rows, with `input_ids`, and `token_type_ids` and `labels` where there are any, as a batch, padded to the longest.

    `pad_token_id` is the tokenizer's.
    """
    if not isinstance(rows[0], Row):
        return pad_batch(rows, pad_token_id)
    labels = [row.labels for row in rows]
    if not isinstance(labels[0], int):
        return pad_batch(rows, pad_token_id, labels=labels)
    return {**pad_batch(rows, pad_token_id), "labels": torch.tensor(labels, dtype=torch.long)}


class Encoded(ABC):
    """Inputs of one kind of task as rows for an encoder.

    Attributes:
        rows: What the encoder reads, each with `input_ids`: windows of sentences, or texts.
        counts: What the tokenizer did to the inputs.
        labels: Label names by id.
        by_piece: Whether logits are those of pieces, (rows, seq, labels), rather than of rows, (rows, labels).
        windows: The words or texts that are scored in each row, and their pieces.
        words: The words of each sentence; a text is a sentence of one word.
    """

    by_piece: ClassVar[bool] = False
    rows: Sequence[HasInputIds]
    counts: Any
    labels: Sequence[str]
    windows: list[Window]
    words: list[list[str]]
    collate = staticmethod(collate_rows)

    def logits_of(self, output: Any) -> Tensor:
        """What is decoded of the output of a model."""
        return output.logits

    def kept(self, logits: Any) -> Any:
        """What Trainer keeps of the logits of a batch for `decode`: tensors that may be padded in their second axis."""
        return logits

    def by_unit(self, rows: Sequence[int], logits: Tensor) -> Tensor:
        """The logits of words or texts, (units, labels), from those of some rows; as they are where each row is one."""
        return logits

    def best(self, rows: Sequence[int], logits: Tensor) -> Tensor:
        """What is stored of the logits of some rows, on their device: the best label of each word or text."""
        return self.by_unit(rows, logits).argmax(-1)

    @abstractmethod
    def collect(self, found: FoundScores) -> list[Any]:
        """The predictions of all inputs in their order, from what `best` gave for all rows.

        Where `found` runs a model, as `Predictor.run` has it, numbers are read when all of it is there, since reading
        waits for a GPU; or `one_behind`, where they are so many that they must not be kept.
        """

    def decode(self, found: FoundScores) -> list[Any]:
        """The predictions of all inputs in their order, from the logits of all rows."""
        return self.collect((rows, self.best(rows, logits)) for rows, logits in found)

    @abstractmethod
    def labelled(self, gold: Sequence[Any]) -> list[Row]:
        """The rows with what is to be learned from them; a label that there is not is left out."""

    def tags(self, gold: Sequence[Any]) -> list[list[str]]:
        """The gold label of each of `words`."""
        return list(gold)


def one_behind(found: FoundScores) -> FoundScores:
    """The same, each when the next one is under way: a GPU computes while it is read."""
    before: list[tuple[Sequence[int], Tensor]] = []
    for each in found:
        yield from before
        before = [each]
    yield from before


TOKENS = {"cuda": (16384, 4096)}
"""By device: most positions in a batch, padding included, and from how many on its items must be of like lengths."""

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
        language: The language of what follows, where it is known and matters.
    """

    counts: Any = None
    language: str | None = None
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
        batches = batch_logits(self.model, encoded, self.tokenizer.pad_token_id, max_tokens, on_progress)
        return encoded.collect((rows, encoded.best(rows, logits)) for rows, logits in batches)

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
    # cuDNN's attention is built anew for every size of a batch
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    for batch in token_budget_batches(lengths, max_tokens or most, enough=min(enough, max_tokens or enough)):
        padded = encoded.collate([rows[i] for i in batch], pad_token_id)
        inputs = {name: x.to(device) for name, x in padded.items()}
        with sdpa_kernel(kernels) if device.type == "cuda" else nullcontext():
            logits = encoded.logits_of(model(**inputs))
        yield batch, logits
        if on_progress is not None:
            on_progress(len(batch))
