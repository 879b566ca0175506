"""`run_sweep`: the paper's table in one go. `dlfa sweep` is the same on the command line."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import Reading
from dlfa_adapters.encoders.cache import DEFAULT_BUDGET
from dlfa_adapters.ground.environment import Progress, device_name, is_main, world_size
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.plots import check_matplotlib
from dlfa_adapters.learning.arguments import few_steps
from dlfa_adapters.learning.checks import check_options, known_kind
from dlfa_adapters.learning.dataset import Source, Sources
from dlfa_adapters.learning.loops import check_swept
from dlfa_adapters.learning.settings import Settings, make_settings, resolve
from dlfa_adapters.runs import Run
from dlfa_adapters.sweeps import check_sweep_place
from dlfa_adapters.sweeps.finetuned import finetuned_sweep
from dlfa_adapters.sweeps.finetuned.ranks import without_launcher
from dlfa_adapters.sweeps.frozen import frozen_sweep
from dlfa_adapters.sweeps.prepare import Prepared, Request, prepare_sweep
from dlfa_adapters.sweeps.saved import begin, save, save_best
from dlfa_adapters.sweeps.show import plot
from dlfa_adapters.sweeps.table import SweepTable, make_table
from dlfa_adapters.sweeps.trainings import SweepResult
from dlfa_adapters.sweeps.variants import check_seeds, read_extra
from dlfa_adapters.tuning import Tuning, get_tuning

logger = logging.getLogger(__name__)

HEAD_RATE = 1e-3
"""Tried for every head of a fine-tuned sweep beside the rate that the tuning has, so that none is held to another's."""


@dataclass(frozen=True)
class Sweep:
    """A sweep that is done.

    Attributes:
        folder: Its folder, see `sweeps.saved`.
        result: Every score.
        table: What is made of them.
        plots: The files of the plots.
        best: The run of the best head; None where encoders were fine-tuned, which are not saved.
    """

    folder: Path
    result: SweepResult
    table: SweepTable
    plots: list[Path]
    best: Run | None


def run_sweep(
    task: str,
    *,
    train_data: Sources | None = None,
    dev_data: Sources | None = None,
    target_data: Source | None = None,
    split: str = "test",
    languages: Iterable[str] | None = None,
    limit: int | None = None,
    language: str | None = None,
    labels: str | None = None,
    model: str = "offline",
    tuning: str = "features",
    out: str | Path | None = None,
    layers: Iterable[int] | None = None,
    extra: Iterable[str] = (),
    seeds: int = 3,
    state_budget: int = DEFAULT_BUDGET,
    at_once: int | None = None,
    restart: bool = False,
    plots: bool | None = None,
    on_start: Callable[[Prepared], None] | None = None,
    note: Callable[[str], None] = logger.info,
    progress: Progress | None = None,
    **options: Any,
) -> Sweep:
    """Train the baseline, D_1..D_L and what is requested besides, several seeds each, and compare them.

    Killed at any moment and called again, it goes on where it was: hidden states, epochs and heads that are there are
    not computed again. Called with more heads or seeds it trains those that are missing.

    Args:
        task: See `learning.train`.
        train_data: Training data in the source language; default: the samples of the task.
        dev_data: Dev data in the same language, which choose epochs and the best head; default: those of `train_data`.
        target_data: Data in the languages to score, see `data.sources.load_source`; default: those of `train_data`.
            They choose nothing.
        split: Their split.
        languages: Their languages; default: all there are.
        limit: Only so many items of each language.
        language: The source language, see `learning.train`.
        labels: See `learning.train`.
        model: `offline`, a folder, or a name on the hub.
        tuning: `features` (the encoder is frozen) or another one of `learning.train`, with an encoder for each head.
        out: The folder; default: `runs/TASK-sweep`.
        layers: Which D_k; default: all. The control D_L is always there.
        extra: What else to train, see `make_variants`.
        seeds: Seeds of each head, from `seed` on.
        state_budget: See `frozen_sweep`.
        at_once: See `finetuned_sweep`.
        restart: Replace an earlier sweep in the folder, whatever it was.
        plots: Whether to draw plots; default: if matplotlib is installed.
        on_start: Called before anything is computed.
        note: Called with sentences that say what is done.
        progress: Called after each step with a stage, steps done and steps in all.
        **options: Fields of `learning.Settings`, e.g. `epochs=5`, `within=2.0`, `gate="product"`; and how files are
            read: `format`, `word_column`, `tag_column`, see `data.reading.Reading`.

    Returns:
        The sweep.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the data cannot be read or are not for this task.
        RunError: If the folder holds another sweep.
        MissingExtraError: If plots are requested and matplotlib is not installed.
    """
    check_seeds(seeds)
    for item in (extra := tuple(extra)):
        read_extra(item)
    what: dict[str, Any] = {"train_data": train_data, "dev_data": dev_data, "language": language, "labels": labels}
    check_options(task, tuning=tuning, check=check_swept, model=model, **what, **options)
    method = get_tuning(tuning)
    reading = Reading.taken_from(options)
    with without_launcher():  # each run has a process to itself
        given = make_settings(**options)
        settings = with_head_rates(resolve(given, method, known_kind(task)), given, method)
    if method.on_states and world_size() > 1:
        raise ConfigError("A sweep of a frozen encoder runs in one process; start it without torchrun.")
    if plots:
        check_matplotlib()
    request = Request(
        task=task,
        **what,
        target_data=target_data,
        split=split,
        languages=None if languages is None else tuple(languages),
        limit=limit,
        model=model,
        layers=None if layers is None else tuple(layers),
        extra=extra,
        seeds=seeds,
        reading=reading,
    )
    folder = Path(out or f"runs/{task}-sweep")
    if is_main():  # which makes it, while the others look
        check_sweep_place(folder)
    report = progress or (lambda stage, done, total: None)
    report("Loading encoder and data", 0, 1)
    prepared = prepare_sweep(request, method, settings, folder)
    report("Loading encoder and data", 1, 1)
    if is_main():
        begin(prepared, restart)
    if on_start is not None:
        on_start(prepared)
    if is_main():
        for each in filter(None, [*prepared.notes, few_steps(settings, prepared.train.epoch_rows)]):
            note(each)
    began = time.monotonic()
    if method.on_states:
        rows = frozen_sweep(prepared, state_budget=state_budget, note=note, report=report)
    else:
        rows = finetuned_sweep(prepared, folder / "trainings", at_once=at_once, note=note, progress=progress)
    result = SweepResult(
        task=prepared.task,
        tuning=str(method),
        num_layers=prepared.num_layers,
        sources=prepared.sources,
        rows=rows,
        translations=prepared.translations,
        about={
            "encoder": prepared.encoder.describe(),
            "data": prepared.data,
            "settings": prepared.settings.as_dict(),
            "device": device_name(),
            "seconds": round(time.monotonic() - began, 1),
        },
    )
    report("Bootstrap", 0, 1)
    table = make_table(result)
    report("Bootstrap", 1, 1)
    if not is_main():
        return Sweep(folder, result, table, [], None)
    save(prepared, result, table)
    best = save_best(prepared, result) if method.on_states else None
    return Sweep(folder, result, table, _plots(folder, result, table, plots, note), best)


def _plots(
    folder: Path, result: SweepResult, table: SweepTable, wanted: bool | None, note: Callable[[str], None]
) -> list[Path]:
    if wanted is False:
        return []
    if wanted is None:
        try:
            check_matplotlib()
        except MissingExtraError:
            note("No plots: matplotlib is not installed; type pip install 'dlfa-adapters[plots]'.")
            return []
    return plot(folder, result, table)


def with_head_rates(resolved: Settings, given: Settings, tuning: Tuning) -> Settings:
    """Settings in which a head beside a fine-tuned encoder has two rates to try: that of the tuning, and `HEAD_RATE`.

    Nothing is added where a rate of the head or several of the encoder were given, or on frozen states, on which heads
    have rates of their own already.
    """
    steps, rate = given.steps, resolved.steps.head_learning_rate
    chosen = steps.head_learning_rate or steps.head_learning_rates is not None or steps.learning_rates
    if chosen or tuning.on_states or not rate:
        return resolved
    return resolved.changed(head_learning_rates=(rate, HEAD_RATE) if rate != HEAD_RATE else ())
