"""Accuracy of tags of single words, for POS."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlfa_adapters.scores.metrics.base import TAGS_FEATURES, Metric, check_lengths, quotient, warn_unknown
from dlfa_adapters.scores.metrics.counts import mean_f1, ratio, table, unknown_labels

Tags = Sequence[Sequence[str]]


class TokenAccuracy(Metric):
    """The share of words with the right tag, over all words (micro), with precision, recall and F1 of each tag.

    Every gold word counts, X and punctuation too.
    """

    main_score = "accuracy"
    title = "accuracy"
    counts_features = TAGS_FEATURES
    citation_text = "Zeman et al. 2018, CoNLL 2018 shared task: multilingual parsing (UPOS on gold words)"

    def _compute(self, predictions: Tags, references: Tags, *, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """Scores predicted tags.

        Args:
            predictions: Predicted tags of each sentence.
            references: Gold tags of each sentence.
            labels: The labels that the model has; others in gold count as missed and are named.

        Returns:
            `accuracy` and `macro_f1` (None without words), `support` (words), `per_tag`, `unknown_gold_labels`.
        """
        check_lengths(predictions, references)
        predicted = [tag for tags in predictions for tag in tags]
        gold = [tag for tags in references for tag in tags]
        unknown = unknown_labels(gold, labels)
        warn_unknown(unknown)
        correct = [tag for tag, right in zip(predicted, gold, strict=True) if tag == right]
        per_tag = table(correct, predicted, gold)
        return {
            "accuracy": ratio(len(correct), len(gold)),
            "macro_f1": mean_f1(per_tag),
            "support": len(gold),
            "per_tag": per_tag,
            "unknown_gold_labels": unknown,
        }

    def item_counts(self, predictions: Tags, references: Tags) -> np.ndarray:
        """Right words and words of each sentence, `(sentences, 2)`."""
        check_lengths(predictions, references)
        rows = [
            (sum(a == b for a, b in zip(tags, gold, strict=True)), len(gold))
            for tags, gold in zip(predictions, references, strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(len(rows), 2)

    @staticmethod
    def score_of_counts(counts: np.ndarray) -> np.ndarray:
        """Accuracy of `(..., 2)` counts; NaN without words."""
        return quotient(counts[..., 0], counts[..., 1])
