"""`train`: data, encoder, tuning and head in; a run folder out. `dlfa train` is the same on the command line."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dlfa_adapters.data.places import Reading, each_place
from dlfa_adapters.ground.environment import Progress, is_main, wait_for_everyone, world_size
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning.auto_layer import LayerChoice
from dlfa_adapters.learning.checks import check_training, default_source, known_kind
from dlfa_adapters.learning.cut import length_asked
from dlfa_adapters.learning.dataset import PYTHON_OBJECTS, Sources, source_as_text
from dlfa_adapters.learning.finish import verdict, write_training_run
from dlfa_adapters.learning.from_block import choose_states
from dlfa_adapters.learning.on_states import train_on_states
from dlfa_adapters.learning.plan import Plan, prepare
from dlfa_adapters.learning.plan_words import announce
from dlfa_adapters.learning.ranges import check_rates
from dlfa_adapters.learning.safeguards import check_weights
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.learning.steps import train_steps
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.runs.lifecycle import Training, has_plan, request_left
from dlfa_adapters.tuning import default_tuning, get_tuning

logger = logging.getLogger(__name__)


def train(
    task: str,
    *,
    train_data: Sources | None = None,
    dev_data: Sources | None = None,
    language: str | None = None,
    labels: str | None = None,
    model: str = "offline",
    tuning: str | None = None,
    out: str | Path | None = None,
    resume: bool | Literal["auto"] = False,
    on_start: Callable[[Plan], None] | None = None,
    on_step: Callable[[int], None] | None = None,
    on_epoch: Callable[[int], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Train a tagger, parser or classifier on data in one language or several, and save it as a run.

    The checkpoint with the best score on *source* dev data is kept. Killed at any moment and called again with
    `resume=True`, a training ends with the weights that it would have had.

    Args:
        task: A task known by name (`ner`, `pos`, `parse`, `xnli`, `pawsx`, `topic`, `sentiment`, `marc`), or any other
            name: kind and labels are then those of the data.
        train_data: A file, a folder, `hub:NAME`, `samples:NAME`, or Python items; see `data.sources.load_source`. For
            several source languages a mapping, `{"en": "train-en.tsv", "de": "train-de.tsv"}`. Default: the samples of
            the task.
        dev_data: The same, to choose the checkpoint on; `none` for none. Default: the dev split of `train_data`, and
            none where that is a single file or Python items.
        language: The source language; several with commas between them, where the data are in a folder, the samples
            or on the hub. Default: English, or what the name of a single file says.
        labels: For a known task whose data have other labels: `data` or `task`, see `dataset.task_for`.
        model: `offline`, a folder, or a name on the hub.
        tuning: `full`, `freeze:6`, `lora`, `bottleneck`, `stack:FOLDER`, `features`. Default: `lora` with a GPU,
            `features` without.
        out: The run folder; default: `runs/TASK-TUNING`. An earlier run there is replaced when this one is done.
        resume: Go on with the training of `out` that was cut short; all other arguments must be those of then. `auto`
            begins one where there is none.
        on_start: Called before the first step with what will be done; without it that goes to the log.
        on_step: Called with the number of each step, from 1, when it is done; not with the tuning `features`, whose
            heads learn beside the model.
        on_epoch: Called with the number of each epoch, likewise. The model is `Plan.model`.
        progress: Called with a stage, how many steps of it were just done, and how many it has; for the screen.
        **options: Fields of `Settings`, e.g. `fuse_layer=8`, `epochs=3`, `leave_out=range(1, 7)`; and how files are
            read, where it is not detected rightly: `format`, `word_column`, `tag_column`, see `data.reading.Reading`.

    Returns:
        The run.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the data cannot be read or are not for this task.
        RunError: If the training diverges, or there is nothing to resume.
    """
    data: dict[str, Any] = {"train_data": train_data, "dev_data": dev_data, "language": language, "labels": labels}
    tuning = tuning or default_tuning()
    check_training(task, **data, model=model, tuning=tuning, out=out, **options)
    reading = Reading.taken_from(options)
    given = make_settings(**options)
    method = get_tuning(tuning, given.steps.leave_out)
    settings = resolve(given, method, known_kind(task))
    source = default_source(task) if train_data is None else train_data
    out = Path(out or f"runs/{task}-{method.name}")
    report = progress or (lambda stage, done, total: None)
    training = Training(out)
    check_rates(settings, method)
    if method.on_states and (on_step or on_epoch):
        raise ConfigError("--tuning features has no on_step and on_epoch: its heads learn beside the model.")
    if method.on_states and world_size() > 1:
        raise ConfigError("--tuning features runs in one process; start it without torchrun or accelerate launch.")
    request = {
        "task": task,
        **data,
        "train_data": source_as_text(source),
        "dev_data": source_as_text(dev_data),
        "model": model,
        "tuning": str(method),
        **reading.as_dict(),
        **settings.as_dict(),
    }
    if training.resume_finds_it_done(resume):
        return read_run(out)

    report("Loading encoder and data", 0, 1)
    before = training.before
    chosen = LayerChoice.from_dict(before["chosen"]) if before and before.get("chosen") else None
    ready = prepare(task, source, dev_data, language, reading, labels, model, method, settings, out, chosen, report)
    report("Loading encoder and data", 1, 1)
    plan = ready.plan
    request |= length_asked(settings, plan.settings)
    states = None if method.on_states else choose_states(ready, training.folder / "states")
    if not before and has_plan(out):
        plan.notes.append(f"A training of {out} that was cut short begins anew; --resume {out} would have gone on.")
    with training.planned_alone(
        request, ready.encoder["fingerprint"], plan.known_by(), plan.choice.to_dict() if plan.choice else None
    ):
        announce(plan, on_start, logger, notes=logging.WARNING)
        began = time.monotonic()
        if method.on_states:
            outcome = train_on_states(ready, training.folder / "states", report)
        else:
            outcome = train_steps(ready, training, states, report, on_step, on_epoch)
        check_weights(plan.model)
        if is_main():
            outcome.seconds = round(time.monotonic() - began, 1)
            outcome.found_nothing, outcome.advice = verdict(plan, ready.dev, outcome)
            write_training_run(training, plan, ready.encoder, outcome)
            score = "" if outcome.dev_score is None else f", {outcome.dev_score:.2f} on dev"
            logger.info("Kept %s%s; saved in %s after %.0f s", outcome.best, score, out, outcome.seconds)
            for sentence in filter(None, (outcome.found_nothing, outcome.advice)):
                logger.warning(sentence)
    wait_for_everyone()
    return read_run(out)


def resume_training(
    out: str | Path, on_start: Callable[[Plan], None] | None = None, progress: Progress | None = None
) -> Run:
    """Go on with a training that was cut short, with the arguments it was started with.

    If it had ended, its run is what comes back.

    Args:
        out: The run folder that it would have written.
        on_start: See `train`.
        progress: See `train`.

    Raises:
        RunError: If there is nothing to resume, it began with Python objects, or data or encoder have changed.
    """
    out = Path(out)
    request = request_left(out)
    if request is None:
        return read_run(out)
    for name in ("train_data", "dev_data"):
        if PYTHON_OBJECTS in each_place(request[name]):
            raise RunError(f"{out} was trained on Python objects; call train(..., resume=True) with the same ones.")
    return train(**request, out=out, resume=True, on_start=on_start, progress=progress)
