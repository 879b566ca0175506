"""What dev data say of a training: scores by language, which weights are kept, and when to stop."""

import math
from collections.abc import Callable
from typing import Any

from dlfa_adapters.kinds.examples import MACRO_F1, Examples, mean_score
from dlfa_adapters.learning.dataset import labels_in


def patience_is_over(state: Any, patience: int) -> bool:
    """Whether the best dev score is `patience` evaluations old; never with patience 0."""
    scores = dev_scores(state)
    return bool(patience and scores) and len(scores) - 1 - scores.index(max(scores)) >= patience


def dev_scores(state: Any) -> list[float]:
    """The dev score of each evaluation so far."""
    return [entry["eval_score"] for entry in state.log_history if "eval_score" in entry]


def kept_entry(state: Any) -> dict[str, Any]:
    """What was logged when the best weights were evaluated; nothing without dev data."""
    entries = (entry for entry in state.log_history if "eval_score" in entry)
    return next((entry for entry in entries if entry["step"] == state.best_global_step), {})


SCORE_OF, MACRO_F1_OF = "eval_score_", "eval_macro_f1_"


def kept_by_language(entry: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Of what `kept_entry` gives: `dev`, the score of each language, and `macro_f1`, that of each."""
    named = {"dev": SCORE_OF, MACRO_F1: MACRO_F1_OF}
    return {
        name: {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for name, prefix in named.items()
    }


def dev_score(dev: Examples) -> Callable[[Any], dict[str, float]]:
    """What Trainer calls with logits and losses of all dev rows.

    It gives the `score`; the `rank` by which the checkpoint is chosen: of equal scores, which have four decimals, the
    one with the lower loss has the higher rank; `labels`, how many labels were predicted; and scores
    by language.
    """

    def score(prediction: Any) -> dict[str, float]:
        predicted = dev.predictions(prediction.predictions)
        scores, loss = dev.scores(predicted), float(prediction.losses.mean())
        value = mean_score(scores)
        share = loss / (1 + loss) if math.isfinite(loss) else 1.0
        return {
            "score": value,
            "rank": value - 1e-5 * share,
            "labels": labels_in(dev.task, predicted),
            **{SCORE_OF.removeprefix("eval_") + name: each for name, each in scores.items()},
            **{MACRO_F1_OF.removeprefix("eval_") + name: each for name, each in dev.macro_f1(predicted).items()},
        }

    return score
