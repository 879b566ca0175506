"""What a training came to: whether the model predicts anything, and whether a longer training might do better."""

from dlfa_adapters.learning.dataset import Examples, labels_in
from dlfa_adapters.learning.finish import Outcome
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.scores.metrics import metrics_for

_STILL = 0.5  # points of the dev score
_TAIL = 0.2  # of the evaluations


def verdict(plan: Plan, dev: Examples | None, outcome: Outcome) -> tuple[str | None, str | None]:
    """Judge a training by its dev scores.

    Args:
        plan: What was trained.
        dev: Source dev data; without them there is nothing to say.
        outcome: What came out.

    Returns:
        That the model is of no use yet, and what to try; and that it was still getting better at its end, and what to
        type. None for each of the two where it is not so.
    """
    if dev is None or outcome.dev_score is None:
        return None, None
    return _found_nothing(plan, dev, outcome), _advice(plan, outcome)


def _found_nothing(plan: Plan, dev: Examples, outcome: Outcome) -> str | None:
    """A score of nothing, or a single label for all of dev, which has several."""
    name = metrics_for(plan.task)[0].main_score
    if labels_in(dev.gold) < 2:  # nothing to find there
        return None
    if outcome.dev_score == 0:
        what = f"{name} on dev is 0.0: the model finds nothing there"
    elif outcome.labels == 1:
        what = f"The model gives all of dev one and the same label ({name} {outcome.dev_score:.1f})"
    else:
        return None
    steps = "" if _may_end_itself(plan) else f", after {plan.steps:,} steps"
    rate = "--head-lr" if plan.tuning.on_states else "--lr"
    return (
        f"{what}{steps}. Try {_longer(plan)}, another {rate} or --fuse-layer auto, and look at "
        "the labels with dlfa data check FILE."
    )


def _advice(plan: Plan, outcome: Outcome) -> str | None:
    """Where the last fifth of the evaluations was better than all before it, the training may have ended too early."""
    scores = outcome.dev_scores
    before = scores[: int(len(scores) * (1 - _TAIL))]
    if not before or _may_end_itself(plan) or max(scores) < max(before) + _STILL:
        return None
    return (
        f"Of {len(scores)} evaluations on dev the best was near the end ({outcome.best}, {max(scores):.1f}; before it "
        f"{max(before):.1f}), so more may do better: type {_longer(plan)}."
    )


def _may_end_itself(plan: Plan) -> bool:
    """Whether the training ends when dev stands still, whatever was planned."""
    lstm = plan.tuning.on_states and plan.settings.head.classifier == "bilstm"
    return lstm or plan.settings.steps.patience > 0


def _longer(plan: Plan) -> str:
    """Twice the training, or as many steps as are the tuning's least, as it is typed."""
    settings, least = plan.settings, plan.tuning.defaults_for(plan.settings.head.classifier).min_steps
    if settings.steps.max_steps > 0:
        return f"--max-steps {max(2 * settings.steps.max_steps, least)}"
    epochs = settings.steps.epochs or 1
    return f"--epochs {max(2 * epochs, -(-least * epochs // max(1, plan.steps)))}"
