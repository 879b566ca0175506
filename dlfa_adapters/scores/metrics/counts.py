"""Precision, recall and F1 from counts; what is not defined is None, never NaN and never a made-up 0 or 1."""

from collections import Counter
from collections.abc import Iterable, Sequence

Scores = dict[str, float | int | None]


def ratio(part: int, whole: int) -> float | None:
    """`part / whole`, or None where there is nothing to divide by."""
    return part / whole if whole else None


def prf(correct: int, predicted: int, support: int) -> Scores:
    """Precision, recall and F1.

    F1 is `2 correct / (predicted + support)`: 0 where something is predicted or in gold and nothing is right, None
    where there is nothing at all.

    Args:
        correct: How many of the predicted are right.
        predicted: How many are predicted.
        support: How many are in gold.

    Returns:
        `precision`, `recall`, `f1`, `support` and `predicted`.
    """
    return {
        "precision": ratio(correct, predicted),
        "recall": ratio(correct, support),
        "f1": ratio(2 * correct, predicted + support),
        "support": support,
        "predicted": predicted,
    }


def table(correct: Iterable[str], predicted: Iterable[str], gold: Iterable[str]) -> dict[str, Scores]:
    """Precision, recall and F1 of each name that is in gold or predicted, in alphabetical order.

    Args:
        correct: The name of each right prediction.
        predicted: The name of each prediction.
        gold: The name of each thing in gold.

    Returns:
        The scores by name.
    """
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
