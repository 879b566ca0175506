"""How long a training is, and how often it is judged: small data get more epochs, and many short ones fewer looks."""

from dlfa_adapters.learning.settings import Settings

MOST_EVALUATIONS = 25
"""Of a training with many short epochs: dev is read after every few of them."""

_HALVINGS = 8
"""Evaluations that the schedule of an LSTM on frozen states takes at the least, see `plateau`."""


def least_steps(settings: Settings, rows: int, *, plateau: bool) -> Settings:
    """Settings with as many epochs as `min_steps` take; they stay as they are where that is fewer.

    Args:
        settings: Resolved ones.
        rows: Rows of the training data.
        plateau: Whether the rate is halved where dev stands still; `epochs` are then a limit, which moves along.
    """
    if settings.steps.max_steps > 0 or not settings.steps.min_steps or not rows:
        return settings
    one, epochs = steps_of_epoch(settings, rows), settings.steps.epochs or 1
    if plateau:
        return settings.changed(epochs=epochs * epochs_between(settings, rows, plateau=True))
    return settings.changed(epochs=max(epochs, -(-settings.steps.min_steps // one)))


def epochs_between(settings: Settings, rows: int, *, plateau: bool) -> int:
    """After how many epochs dev is read, each time: 1, unless there are more than `MOST_EVALUATIONS` short ones.

    Where the rate is halved when dev stands still, it is as many as let the schedule not end before `min_steps`.

    Args:
        settings: Those of `least_steps`.
        rows: Rows of the training data.
        plateau: See `least_steps`.
    """
    if not settings.steps.min_steps or settings.steps.max_steps > 0:
        return 1
    if plateau:
        return -(-settings.steps.min_steps // (_HALVINGS * steps_of_epoch(settings, rows)))
    return -(-(settings.steps.epochs or 1) // MOST_EVALUATIONS)


def with_evaluations(settings: Settings, rows: int) -> Settings:
    """Settings with the steps from one look at dev to the next, where that is not each epoch; one look there is."""
    every = settings.steps.every
    if every is None and (between := epochs_between(settings, rows, plateau=False)) > 1:
        every = between * steps_of_epoch(settings, rows)
    return settings if every is None else settings.changed(every=min(every, settings.steps.total(rows)))


def steps_of_epoch(settings: Settings, rows: int) -> int:
    """Steps of an epoch of so many rows."""
    return -(-rows // settings.steps.batch_size)


def told(before: Settings, after: Settings, rows: int, items: str, *, plateau: bool) -> list[str]:
    """What the user is told where small data have got more epochs: one sentence, or none.

    Args:
        before: Resolved settings.
        after: What `least_steps` made of them.
        rows: Rows of the training data.
        items: How many items of which kind, in words.
        plateau: See `least_steps`.
    """
    if after.steps.epochs == before.steps.epochs:
        return []
    if plateau:
        every = epochs_between(after, rows, plateau=True)
        return [
            f"{items}, batch {after.steps.batch_size}: dev is read every {every} epochs, so that the rate is not "
            f"halved to its end before {after.steps.min_steps} steps; --min-steps 0 reads it after each."
        ]
    return [
        f"{items}, batch {after.steps.batch_size}: {after.steps.epochs} epochs for {after.steps.total(rows)} steps "
        f"instead of {before.steps.epochs}; --epochs N or --min-steps N says otherwise."
    ]


def few_steps(settings: Settings, rows: int) -> str | None:
    """What a user is told whose sweep has fewer steps than a training would have; None where it has enough.

    Args:
        settings: Resolved ones.
        rows: Rows of the training data.
    """
    longer = least_steps(settings, rows, plateau=False)
    if longer.steps.epochs == settings.steps.epochs:
        return None
    return (
        f"{settings.steps.total(rows)} steps may be too few to tell heads apart: dlfa train would take "
        f"{longer.steps.total(rows)}; type --epochs {longer.steps.epochs}."
    )
