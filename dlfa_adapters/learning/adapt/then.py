"""`train_adapted`: an encoder is adapted to unlabelled text, and then learns a task. `dlfa train --adapt` does it."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.learning.adapt.options import check_adapted_training
from dlfa_adapters.learning.adapt.place import place_of, training_left
from dlfa_adapters.learning.adapt.plan import Adapted, AdaptPlan
from dlfa_adapters.learning.adapt.train import adapt_encoder, resume_adaptation
from dlfa_adapters.learning.dataset import Sources, source_as_text
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.learning.run import train
from dlfa_adapters.runs import Run
from dlfa_adapters.runs.lifecycle import has_plan
from dlfa_adapters.tuning import default_tuning, get_tuning


def train_adapted(
    task: str,
    *,
    adapt: Sources,
    adapt_options: Mapping[str, Any] = MappingProxyType({}),
    model: str = "offline",
    tuning: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    on_adapt: Callable[[AdaptPlan], None] | None = None,
    on_start: Callable[[Plan], None] | None = None,
    on_step: Callable[[int], None] | None = None,
    on_epoch: Callable[[int], None] | None = None,
    progress: Progress | None = None,
    **arguments: Any,
) -> Run:
    """Adapt an encoder to the text of a task in all its languages, then train it on labels in one of them.

    XMULTI's +DA: no label of a target language is looked at. For several trainings on one adapted encoder, call
    `adapt_encoder` once, and `train(..., model=FOLDER)` for each.

    Args:
        task: See `train`.
        adapt: Unlabelled text, or data whose labels are not looked at: see `adapt_encoder`.
        adapt_options: Options of `adapt_encoder` by name.
        model: The encoder before it is adapted.
        tuning: See `train`; where an adapter was all that learnt (`learns="adapter"`), it is a stack over that.
        out: The run folder; the adapted encoder is beside it, `runs/ner-adapted` for `runs/ner`, which predicting
            needs too unless the tuning saves the encoder.
        resume: Go on where this was cut short.
        on_adapt: Called before the first step of the adaptation.
        on_start: Called before the first step of the training.
        on_step: Called with the number of each step of the training; see `train`.
        on_epoch: Likewise with that of each epoch.
        progress: Called after each step of both.
        **arguments: What else `train` takes.

    Returns:
        The run; its `encoder` is the adapted one, and says to what.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If text or data cannot be read.
        RunError: If a training diverges, or there is nothing to resume.
    """
    check_adapted_training(
        task, adapt=adapt, adapt_options=adapt_options, model=model, tuning=tuning, out=out, **arguments
    )
    stacks = adapt_options.get("learns") == "adapter"
    out = Path(out or f"runs/{task}-{'stack' if stacks else get_tuning(tuning or default_tuning()).name}")
    place = place_of(out)
    if resume and training_left(out) is None and not has_plan(out):
        raise RunError(f"There is no training of {out} to resume; start it without --resume.")
    then = {
        "task": task, "adapt": source_as_text(adapt), "adapt_options": dict(adapt_options), "model": model,
        "tuning": tuning,
        **{name: (source_as_text if name.endswith("_data") else _plain)(value) for name, value in arguments.items()},
    }  # fmt: skip
    if resume and not has_plan(place):
        adapted = _done(place, then)
    else:
        adapted = adapt_encoder(
            adapt, task=task, model=model, out=place, resume=resume, then=then, on_start=on_adapt, progress=progress,
            **adapt_options,
        )  # fmt: skip
    return train(
        task,
        model=model if adapted.is_adapter else str(place),
        tuning=f"stack:{place}" if adapted.is_adapter else tuning,
        out=out,
        resume="auto" if resume else False,
        on_start=on_start,
        on_step=on_step,
        on_epoch=on_epoch,
        progress=progress,
        **arguments,
    )


def _plain(value: Any) -> Any:
    """An option as it can be written down: places as text, ranges as lists."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Path):
        return str(value)
    return [_plain(each) for each in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def _done(place: Path, then: Mapping[str, Any]) -> Adapted:
    """The adaptation that has ended; a `RunError` where there is none, or it was for another training."""
    adapted, wanted = resume_adaptation(place), json.loads(json.dumps(then))
    before = adapted.record.get("then", {})
    if changed := [name for name in {**wanted, **before} if wanted.get(name) != before.get(name)]:
        name = changed[0]
        raise RunError(
            f"The encoder in {place} was adapted for a training with {name}={before.get(name)!r}, now it is "
            f"{wanted.get(name)!r}; resume it as it began, or start it again without --resume."
        )
    return adapted


def resume_adapted(
    out: str | Path,
    on_adapt: Callable[[AdaptPlan], None] | None = None,
    on_start: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Go on with what `train_adapted` has begun, where its training has not; see `training_left`.

    Raises:
        RunError: If there is nothing to resume, or text or encoder have changed.
    """
    then = training_left(out)
    if then is None:
        raise RunError(f"There is no training of {out} to resume; start it without --resume.")
    return train_adapted(**then, out=out, resume=True, on_adapt=on_adapt, on_start=on_start, progress=progress)
