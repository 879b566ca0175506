"""Trainings that are killed."""


class Killed(BaseException):
    """What no training catches."""


def killed_at(step, stage="Training"):
    """Progress that kills a training once so many steps of a stage are done; with 0 when the stage begins."""
    count = 0

    def progress(name, done, total):
        nonlocal count
        if name == stage:
            count += done
            if count >= step:
                raise Killed

    return progress
