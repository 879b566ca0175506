"""The base of the metrics: `evaluate.Metric`, in memory, with no file written and nothing fetched; and what they share.

Precision, recall and F1 come from counts; what is not defined is None, never NaN and never a made-up 0 or 1.
"""

import logging
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import evaluate
import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf

from dlfa_adapters.ground.errors import DataError

logger = logging.getLogger(__name__)

TAGS_FEATURES = Features({"predictions": ListOf(Value("string")), "references": ListOf(Value("string"))})
LABEL_FEATURES = Features({"predictions": Value("string"), "references": Value("string")})


@dataclass(frozen=True)
class CountedScore:
    """A score that is a function of sums over items, so that it can be resampled.

    Attributes:
        name: Its key in a report.
        title: Its name in a table.
        counts: From predictions and gold to what is summed, (items, counts).
        score: From sums, (..., counts), to the score, (...); NaN where it is not defined.
    """

    name: str
    title: str
    counts: Callable[[Sequence[Any], Sequence[Any]], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]


class Metric(evaluate.Metric):
    """A metric of this library; `compute` works as for every metric of `evaluate`.

    Bootstrap intervals and paired tests resample items, and every main score here is a function of sums over items:
    `item_counts` gives what is summed, `score_of_counts` the score of the sums.

    Attributes:
        main_score: The entry of the result that is the main score.
        title: The main score's name in a table.
        counts_features: Inputs, `TAGS_FEATURES` or `LABEL_FEATURES`.
        citation_text: The source.
    """

    main_score: ClassVar[str]
    title: ClassVar[str]
    counts_features: ClassVar[Features]
    citation_text: ClassVar[str]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"keep_in_memory": True, **kwargs})

    def _build_data_dir(self) -> str:
        """Where a metric that is not held in memory puts its files; otherwise no folder is made."""
        if not self.keep_in_memory:
            return str(super()._build_data_dir())
        return os.path.join(self._data_dir_root, self.name, self.config_name)

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=type(self).__doc__ or "",
            citation=self.citation_text,
            inputs_description="",
            features=self.counts_features,
        )

    @abstractmethod
    def item_counts(self, predictions: Sequence[Any], references: Sequence[Any]) -> np.ndarray:
        """Counts of each item, whose sums give the main score.

        Args:
            predictions: Predicted tags of each sentence, or the label of each item.
            references: Gold ones.

        Returns:
            Integers, `(items, counts)`.
        """

    @staticmethod
    @abstractmethod
    def score_of_counts(counts: np.ndarray) -> np.ndarray:
        """The main score of sums of counts.

        Args:
            counts: `(..., counts)`.

        Returns:
            `(...)`, NaN where the score is not defined.
        """

    def counted_scores(self) -> tuple[CountedScore, ...]:
        """The scores that are functions of sums over items, the main one first."""
        return (CountedScore(self.main_score, self.title, self.item_counts, self.score_of_counts),)


def quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise quotient, NaN where the denominator is 0, without a warning."""
    out = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=out, where=np.asarray(denominator) != 0)


def share(counts: np.ndarray) -> np.ndarray:
    """What is right of all, from `(..., 2)` counts of both; NaN where there is nothing."""
    return quotient(counts[..., 0], counts[..., 1])


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 from `(..., 3)` counts of what is right, predicted and gold; NaN where nothing is predicted or gold."""
    return quotient(2 * counts[..., 0], counts[..., 1] + counts[..., 2])


def check_items(predictions: Sequence[object], references: Sequence[object]) -> None:
    """Checks that every item has one prediction.

    Raises:
        DataError: If their numbers differ.
    """
    if len(predictions) != len(references):
        raise DataError(f"expected predictions for {len(references)} items, got {len(predictions)}; give one for each.")


def as_counts(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Counts of each item, (items, width), also of no item."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def check_lengths(predictions: Sequence[Sequence[object]], references: Sequence[Sequence[object]]) -> None:
    """Checks that every word has one prediction.

    Raises:
        DataError: If the numbers of sentences, or of words in one of them, differ.
    """
    check_items(predictions, references)
    for number, (predicted, gold) in enumerate(zip(predictions, references, strict=True)):
        if len(predicted) != len(gold):
            raise DataError(
                f"expected {len(gold)} predictions for sentence {number} (counted from 0), got {len(predicted)}; "
                "every word needs exactly one."
            )


Scores = dict[str, float | int | None]


def ratio(part: int, whole: int) -> float | None:
    """`part / whole`, or None where there is nothing to divide by."""
    return part / whole if whole else None


def prf(correct: int, predicted: int, support: int) -> Scores:
    """Precision, recall and F1.

    F1 is `2 correct / (predicted + support)`: 0 where something is predicted or in gold and nothing is right, None
    where there is nothing at all. `support` is how many are in gold.
    """
    return {
        "precision": ratio(correct, predicted),
        "recall": ratio(correct, support),
        "f1": ratio(2 * correct, predicted + support),
        "support": support,
        "predicted": predicted,
    }


def table(correct: Iterable[str], predicted: Iterable[str], gold: Iterable[str]) -> dict[str, Scores]:
    """Precision, recall and F1 of each name that is in gold or predicted, in alphabetical order."""
    right, guessed, there = Counter(correct), Counter(predicted), Counter(gold)
    return {name: prf(right[name], guessed[name], there[name]) for name in sorted(guessed.keys() | there.keys())}


def mean_f1(scores: dict[str, Scores]) -> float | None:
    """The unweighted mean of F1 over the rows of a `table`, each of which has an F1; None where there is no row."""
    return sum(row["f1"] or 0.0 for row in scores.values()) / len(scores) if scores else None


def unknown_labels(gold: Iterable[str], labels: Sequence[str] | None) -> dict[str, int]:
    """Labels of gold that the model does not have, and how often they occur; {} where the model's are not given."""
    if labels is None:
        return {}
    known = set(labels)
    return dict(sorted(Counter(label for label in gold if label not in known).items()))


def warn_unknown(gold: Iterable[str], labels: Sequence[str] | None) -> dict[str, int]:
    """The `unknown_labels`, which one warning names."""
    unknown = unknown_labels(gold, labels)
    if unknown:
        named = ", ".join(f"{label} ({times} times)" for label, times in unknown.items())
        logger.warning("Gold has labels that the model does not know; they count as missed: %s.", named)
    return unknown


def accuracy_scores(
    predicted: Sequence[str], gold: Sequence[str], labels: Sequence[str] | None, per: str
) -> dict[str, Any]:
    """Accuracy and macro-F1 of single labels, with a `table` under the key `per`; unknown gold labels are named."""
    unknown = warn_unknown(gold, labels)
    correct = [label for label, right in zip(predicted, gold, strict=True) if label == right]
    rows = table(correct, predicted, gold)
    return {
        "accuracy": ratio(len(correct), len(gold)),
        "macro_f1": mean_f1(rows),
        "support": len(gold),
        per: rows,
        "unknown_gold_labels": unknown,
    }


def counts_by_label(predictions: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> np.ndarray:
    """How often each label is right, predicted, and gold in each item, (items, labels * 3)."""
    item = np.repeat(np.arange(len(gold)), [len(labels) for labels in gold])
    ids: dict[str, int] = {}
    guessed, right = (
        np.array([ids.setdefault(label, len(ids)) for labels in rows for label in labels], dtype=np.int64)
        for rows in (predictions, gold)
    )
    hit = guessed == right
    columns = ((item[hit], right[hit]), (item, guessed), (item, right))
    size = len(gold) * len(ids)
    counts = [np.bincount(items * len(ids) + labels, minlength=size) for items, labels in columns]
    return np.stack(counts, axis=-1).reshape(len(gold), 3 * len(ids))


def macro_f1(counts: np.ndarray) -> np.ndarray:
    """The mean of F1 over the labels that are in gold or predicted, from sums of `counts_by_label`."""
    by_label = f1(counts.reshape(*counts.shape[:-1], -1, 3))
    return quotient(np.nansum(by_label, -1), (~np.isnan(by_label)).sum(-1))
