"""Searching for training options on source dev data, with Optuna."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.environment import world_size
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.files import read_json, write_json
from dlfa_adapters.ground.folders import is_marked, mark
from dlfa_adapters.learning.checks import BETO_GRID, check_search
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.learning.run import train
from dlfa_adapters.runs import Run, WorkFolder, move_run, read_run, remove_run
from dlfa_adapters.runs.lifecycle import remove_training

_SEARCH = "search.json"
_TRIAL = re.compile(r"trial-\d+")
_FILES = re.compile(r"search\.json|trial-\d+\.json")


@dataclass(frozen=True)
class Trial:
    """A training with options of its own.

    Attributes:
        number: From 0.
        options: The options that were searched.
        score: The main score on source dev, in percent.
    """

    number: int
    options: dict[str, Any]
    score: float


@dataclass(frozen=True)
class TuneResult:
    """The result of a search.

    Attributes:
        trials: All trainings, in their order.
        best: The one with the best score, the first where several are equal.
        run: Its run folder.
    """

    trials: list[Trial]
    best: Trial
    run: Run


def tune(
    task: str,
    *,
    out: str | Path,
    grid: Mapping[str, Sequence[Any]] | None = None,
    sampler: str = "grid",
    trials: int | None = None,
    seed: int = 0,
    on_trial: Callable[[Trial, int], None] | None = None,
    on_start: Callable[[Plan], None] | None = None,
    **options: Any,
) -> TuneResult:
    """Train with many options, and keep the run with the best score on source dev data.

    A search that was cut short and is called again goes on where it was: what it trained is not trained again.

    Args:
        task: See `train`.
        out: The run folder of the best training; the others' weights are not saved.
        grid: Options of `train` with the values to try; default: `BETO_GRID`.
        sampler: `grid` tries all combinations in random order; `tpe` (Bergstra et al. 2011) looks where it was good.
        trials: How many; default: the full grid.
        seed: Of the order, and of every training.
        on_trial: Called after each training with it and the number of trainings in all.
        on_start: See `train`; called for the first training alone.
        **options: Further arguments of `train`, the same for all.

    Raises:
        MissingExtraError: If Optuna is not installed.
        ConfigError: If there are no dev data, or an option is both given and searched.
    """
    space = {name: list(values) for name, values in (grid or BETO_GRID).items()}
    out, count = Path(out), trials or prod(map(len, space.values()))
    check_search(task, out=out, grid=space, sampler=sampler, **options)
    if world_size() > 1:
        raise ConfigError("dlfa tune runs in one process; start it without torchrun or accelerate launch.")
    options = {**options, "seed": seed}
    study = _study(space, sampler, seed)
    work = WorkFolder(
        out.absolute().with_name(f"{out.name}.tune"), "a search that has not ended", "the search", _SEARCH, _FILES
    )
    work.check("The trials of the search")
    _open(work, {"task": task, "space": space, "sampler": sampler, "options": options})
    done: list[Trial] = []

    def objective(trial: Any) -> float:
        chosen = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
        first = {"on_start": on_start} if on_start and not done else {}
        result = _trial(task, trial.number, chosen, work.path, {**options, **first})
        done.append(result)
        if on_trial is not None:
            on_trial(result, count)
        return result.score

    study.optimize(objective, n_trials=count)
    best = max(done, key=lambda trial: trial.score)
    run = work.path / f"trial-{best.number}"
    if not (run / "run.json").is_file():  # a crash in between
        _train(task, best.number, best.options, work.path, options)
    move_run(run, out)
    _remove_runs(work.path)
    work.clear()
    return TuneResult(done, best, read_run(out))


def _open(work: WorkFolder, search: dict[str, Any]) -> None:
    """Go on with what an earlier call of the same search has left; what another search has left goes."""
    identity = hashlib.sha256(json.dumps(search, sort_keys=True, default=str).encode()).hexdigest()
    if is_marked(work.path, work.kind) and read_json(work.path / _SEARCH).get("identity") == identity:
        return
    mark(work.path, work.kind)
    _remove_runs(work.path)
    work.clear(empty_it=True)
    write_json(work.path / _SEARCH, {"identity": identity})


def _remove_runs(folder: Path) -> None:
    for trial in folder.glob("trial-*"):
        if _TRIAL.fullmatch(trial.name) and trial.is_dir():
            remove_training(trial)


def _study(space: dict[str, list[Any]], sampler: str, seed: int) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("dlfa tune needs Optuna; type: pip install 'dlfa-adapters[tune]'.") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    chosen = (
        optuna.samplers.GridSampler(space, seed=seed) if sampler == "grid" else optuna.samplers.TPESampler(seed=seed)
    )
    return optuna.create_study(direction="maximize", sampler=chosen)


def _trial(task: str, number: int, chosen: dict[str, Any], folder: Path, options: dict[str, Any]) -> Trial:
    """Train, or take the result of an earlier call of the same search: samplers repeat themselves for a seed."""
    record = folder / f"trial-{number}.json"
    saved = read_json(record)
    if saved.get("options") == chosen and isinstance(saved.get("score"), float):
        return Trial(number, chosen, saved["score"])
    trial = _train(task, number, chosen, folder, options)
    write_json(record, {"options": chosen, "score": trial.score})
    for other in folder.glob("trial-*.json"):  # only the best so far keeps its weights
        if read_json(other).get("score", trial.score) < trial.score:
            remove_run(folder / other.stem)
        elif other.stem != record.stem:
            remove_run(folder / record.stem)
    return trial


def _train(task: str, number: int, chosen: dict[str, Any], folder: Path, options: dict[str, Any]) -> Trial:
    run = train(task, out=folder / f"trial-{number}", resume="auto", **options, **chosen)
    metrics = run.config["metrics"]["dev"]
    if metrics is None:
        raise ConfigError("A search needs dev data in the source language; name some with --dev.")
    score = metrics if isinstance(metrics, float) else sum(metrics.values()) / len(metrics)
    return Trial(number, chosen, score)
