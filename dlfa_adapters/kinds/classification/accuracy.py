"""Accuracy and macro-F1 of labels of texts, for NLI, paraphrase, topic and sentiment."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.metric import (
    LABEL_FEATURES,
    CountedScore,
    Metric,
    accuracy_scores,
    as_counts,
    check_items,
    counts_by_label,
    macro_f1,
    share,
)


class ClassificationAccuracy(Metric):
    """The share of items with the right label, and the mean of F1 over labels that are in gold or predicted.

    Labels are names, or ids such as a model's `argmax` gives, on both sides; an id stands in the result as its digits.
    """

    main_score = "accuracy"
    title = "accuracy"
    counts_features = LABEL_FEATURES
    score_of_counts = staticmethod(share)
    citation_text = "Hu et al. 2020, XTREME, arXiv 2003.11080 (accuracy for XNLI and PAWS-X)"

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Take an item; see `evaluate.Metric`."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Take some items; see `evaluate.Metric`.

        Raises:
            DataError: If some labels are names and some are ids.
        """
        kinds = {_is_id(label) for side in (predictions, references) for label in (() if side is None else side)}
        if len(kinds) == 2:
            raise DataError("expected label names or label ids, got names and ids; turn one into the other.")
        if kinds == {True}:
            predictions, references = [str(int(x)) for x in predictions], [str(int(x)) for x in references]
        super().add_batch(predictions=predictions, references=references, **kwargs)

    def _compute(
        self, predictions: Sequence[str], references: Sequence[str], *, labels: Sequence[str | int] | None = None
    ) -> dict[str, Any]:
        """Scores labels; gold ones that are none of `labels`, which the model has, count as missed and are named.

        Returns:
            `accuracy` and `macro_f1` (None without items), `support` (items), `per_label`, `unknown_gold_labels`.
        """
        check_items(predictions, references)
        names = None if labels is None else list(map(str, labels))
        return accuracy_scores(predictions, references, names, "per_label")

    def item_counts(self, predictions: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """1 for a right item, and 1 for an item, `(items, 2)`."""
        check_items(predictions, references)
        return as_counts([(int(a == b), 1) for a, b in zip(predictions, references, strict=True)], 2)

    def counted_scores(self) -> tuple[CountedScore, ...]:
        """Accuracy and macro-F1."""

        def counts(predictions: Sequence[str], references: Sequence[str]) -> np.ndarray:
            return counts_by_label([[label] for label in predictions], [[label] for label in references])

        return (*super().counted_scores(), CountedScore("macro_f1", "macro F1", counts, macro_f1))


def _is_id(label: object) -> bool:
    """Whether a label is a whole number; of an array or a tensor, too."""
    return hasattr(label, "__index__") and not isinstance(label, bool)
