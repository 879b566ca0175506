"""Inputs as rows for an encoder, predictions from its logits, and both with the gold of training and dev data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.windows import Window
from dlfa_adapters.kinds.registry import kind_of_task
from dlfa_adapters.tasks import Task

FoundScores = Iterable[tuple[Sequence[int], Tensor]]
"""Numbers of rows, and what was found for them; every row is in one of them."""


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
    """Rows as a batch, padded to the longest: `input_ids`, `attention_mask`, and what else the rows have.

    Args:
        rows: Each with `input_ids`, and `token_type_ids` and `labels` where there are any.
        pad_token_id: The tokenizer's.
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

    @staticmethod
    def collate(rows: Sequence[Any], pad_token_id: int | None) -> dict[str, Tensor]:
        """Rows as a batch; see `collate_rows`."""
        return collate_rows(rows, pad_token_id)

    def logits_of(self, output: Any) -> Tensor:
        """What is decoded of the output of a model."""
        logits: Tensor = output.logits
        return logits

    def by_unit(self, rows: Sequence[int], logits: Tensor) -> Tensor:
        """The logits of words or texts, (units, labels), from those of some rows; as they are where each row is one."""
        return logits

    def best(self, rows: Sequence[int], logits: Tensor) -> Tensor:
        """What is kept of the logits of some rows, on their device: the best label of each word or text."""
        return self.by_unit(rows, logits).argmax(-1)

    @abstractmethod
    def collect(self, found: FoundScores) -> list[Any]:
        """The predictions of all inputs in their order, from what `best` gave for all rows."""

    def decode(self, found: FoundScores) -> list[Any]:
        """The predictions of all inputs in their order, from the logits of all rows."""
        return self.collect([(rows, self.best(rows, logits)) for rows, logits in found])

    @abstractmethod
    def labelled(self, gold: Sequence[Any]) -> list[Row]:
        """The rows with what is to be learned from them; a label that there is not is left out."""

    def tags(self, gold: Sequence[Any]) -> list[list[str]]:
        """The gold label of each of `words`."""
        return list(gold)


class Examples:
    """Inputs with their gold: what is trained or judged on.

    Args:
        task: The task, with the labels of the head.
        encoded: The inputs.
        gold: What is right for each, as the kind of the task has it.

    Attributes:
        rows: What Trainer batches; a window of a sentence, or a text.
        words: Words of each sentence.
        tags: Their gold tags.
    """

    def __init__(self, task: Task, encoded: Encoded, gold: list[Any]) -> None:
        self.task, self.encoded, self.gold = task, encoded, gold
        self.rows = encoded.labelled(gold)
        self.words, self.tags = encoded.words, encoded.tags(gold)

    @property
    def windows(self) -> list[Window]:
        """The words that are scored in each row, and their pieces."""
        return self.encoded.windows

    def collator(self, pad_token_id: int | None) -> Callable[[Sequence[Any]], dict[str, Tensor]]:
        """What pads rows to the longest of a batch."""
        return partial(type(self.encoded).collate, pad_token_id=pad_token_id)

    def predictions(self, logits: Any) -> list[Any]:
        """The prediction for each input, from the logits of all rows in their order, (rows, ...)."""
        tensors = tuple(map(torch.as_tensor, logits)) if isinstance(logits, tuple) else torch.as_tensor(logits)
        return self.encoded.decode([(range(len(self.rows)), tensors)])  # type: ignore[list-item]

    def score(self, predictions: Sequence[Any]) -> float:
        """The task's main score in percent; 0 where nothing could be scored (no entity in gold and predictions)."""
        metric = kind_of_task(self.task).metrics(self.task)[0]
        result = metric.compute(predictions=predictions, references=self.gold, labels=self.task.labels)
        return round(100 * (result[metric.main_score] or 0.0), 4)
