"""The base of the metrics: `evaluate.Metric`, in memory, with no file written and nothing fetched."""

import logging
import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import evaluate
import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf

from dlfa_adapters.ground.errors import DataError

logger = logging.getLogger(__name__)

TAGS_FEATURES = Features({"predictions": ListOf(Value("string")), "references": ListOf(Value("string"))})
LABEL_FEATURES = Features({"predictions": Value("string"), "references": Value("string")})


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
        """Where a metric that is not kept in memory puts its files; otherwise no folder is made."""
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


def quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Elementwise quotient, NaN where the denominator is 0, without a warning."""
    out = np.full(np.shape(numerator), np.nan)
    return np.divide(numerator, denominator, out=out, where=np.asarray(denominator) != 0)


def check_items(predictions: Sequence[object], references: Sequence[object]) -> None:
    """Checks that every item has one prediction.

    Raises:
        DataError: If their numbers differ.
    """
    if len(predictions) != len(references):
        raise DataError(f"expected predictions for {len(references)} items, got {len(predictions)}; give one for each.")


def check_lengths(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    """Checks that every word has one prediction.

    Raises:
        DataError: If the numbers of sentences, or of words in one of them, differ.
    """
    check_items(predictions, references)
    for number, (predicted, gold) in enumerate(zip(predictions, references, strict=True)):
        if len(predicted) != len(gold):
            raise DataError(
                f"expected {len(gold)} predicted tags for sentence {number} (counted from 0), got {len(predicted)}; "
                "every word needs exactly one."
            )


def warn_unknown(unknown: dict[str, int]) -> None:
    """Names gold labels that the model does not have, in one warning."""
    if unknown:
        named = ", ".join(f"{label} ({times} times)" for label, times in unknown.items())
        logger.warning("Gold has labels that the model does not know; they count as missed: %s.", named)
