"""Inputs with their gold, in one language or several: what is learned from, and judged on."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.data.windows import Window
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Encoded
from dlfa_adapters.kinds.metric import counts_by_label, macro_f1
from dlfa_adapters.tasks import Task

MACRO_F1 = "macro_f1"


class Examples:
    """Inputs with their gold: what is trained or judged on.

    Args:
        task: The task, with the labels of the head.
        encoded: The inputs.
        gold: What is right for each, as the kind of the task has it.
        languages: The language of each; None: nobody asks.

    Attributes:
        rows: What Trainer batches; a window of a sentence, or a text.
        words, tags: Words of each sentence, and their gold tags.
        mixture: Which rows an epoch has; None: each once.
    """

    def __init__(self, task: Task, encoded: Encoded, gold: list[Any], languages: Sequence[str] | None = None) -> None:
        self.task, self.encoded, self.gold = task, encoded, gold
        self.rows = encoded.labelled(gold)
        self.words, self.tags = encoded.words, encoded.tags(gold)
        self.mixture: Mixture | None = None
        self.languages = [""] * len(gold) if languages is None else list(languages)

    @property
    def windows(self) -> list[Window]:
        """The words that are scored in each row, and their pieces."""
        return self.encoded.windows

    @property
    def epoch_rows(self) -> int:
        """Rows in an epoch."""
        return len(self.rows) if self.mixture is None else self.mixture.epoch_rows

    def items_by_language(self) -> dict[str, list[int]]:
        """The numbers of the inputs in each language."""
        return _by_name(self.languages)

    def row_languages(self) -> list[str]:
        """The language of each row."""
        return [self.languages[window.sentence] for window in self.windows]

    def rows_by_language(self) -> dict[str, list[int]]:
        """The numbers of the rows in each language."""
        return _by_name(self.row_languages())

    def collator(self, pad_token_id: int | None) -> Callable[[Sequence[Any]], dict[str, Tensor]]:
        """What pads rows to the longest of a batch."""
        return partial(type(self.encoded).collate, pad_token_id=pad_token_id)

    def predictions(self, logits: Any) -> list[Any]:
        """The prediction for each input, from the logits of all rows in their order, (rows, ...)."""
        tensors = tuple(map(torch.as_tensor, logits)) if isinstance(logits, tuple) else torch.as_tensor(logits)
        return self.encoded.decode([(range(len(self.rows)), tensors)])  # type: ignore[list-item]

    def score(self, predictions: Sequence[Any]) -> float:
        """The task's main score in percent, of several languages the mean of theirs, rounded to four decimals."""
        return mean_score(self.scores(predictions))

    def scores(self, predictions: Sequence[Any]) -> dict[str, float]:
        """That of each language; 0 where nothing could be scored (no entity in gold and predictions)."""
        metric = kind_of_task(self.task).metrics(self.task)[0]
        out = {}
        for language, (predicted, gold) in self._parts(predictions).items():
            result = metric.compute(predictions=predicted, references=gold, labels=self.task.labels)
            out[language] = round(100 * (result[metric.main_score] or 0.0), 4)
        return out

    def macro_f1(self, predictions: Sequence[Any]) -> dict[str, float]:
        """The mean of F1 over the labels of words or texts, in percent, by language; {} for a kind that has none.

        See `label_macro_f1`.
        """
        parts = self._parts(predictions).items()
        values = {language: label_macro_f1(self.task, predicted, gold) for language, (predicted, gold) in parts}
        return {language: round(100 * value, 4) for language, value in values.items() if value is not None}

    def _parts(self, predictions: Sequence[Any]) -> dict[str, tuple[list[Any], list[Any]]]:
        """Predictions and gold of each language."""
        return {
            language: ([predictions[i] for i in items], [self.gold[i] for i in items])
            for language, items in self.items_by_language().items()
        }


def label_macro_f1(task: Task, predictions: Sequence[Any], gold: Sequence[Any]) -> float | None:
    """The mean of F1 over the labels of words or texts that are in gold or predicted, the metric of XMULTI.

    For tags it is over words, so that O and the tag of punctuation are labels like every other; the paper does not say
    what it counts for names, and its figures fit words better than spans.

    Args:
        task: What was predicted for.
        predictions: The predictions, as the kind of the task has them.
        gold: What is right for each.

    Returns:
        From 0 to 1; None where there is nothing, or the task has no label for each word or text.
    """
    kind = kind_of_task(task)
    if not kind.label_a_unit or not kind.labels_of(gold):
        return None
    counts = counts_by_label([kind.labels_of(predictions)], [kind.labels_of(gold)])
    return float(macro_f1(counts.sum(axis=0)))


def mean_score(scores: Mapping[str, float]) -> float:
    """The mean of scores by language, rounded to four decimals as they are; 0 where there are none."""
    return round(sum(scores.values()) / len(scores), 4) if scores else 0.0


def _by_name(names: Sequence[str]) -> dict[str, list[int]]:
    """Where each name stands, in the order of their first places."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return places
