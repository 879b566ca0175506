"""Searching for training options on source dev data, with Optuna."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.files import is_draft
from dlfa_adapters.ground.folders import is_empty, is_marked, mark, remove, remove_drafts
from dlfa_adapters.ground.running import world_size
from dlfa_adapters.learning.checkpoints import remove_work, write_json
from dlfa_adapters.learning.early import BETO_GRID, check_search
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.learning.run import train
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.runs.folder import move_run, remove_run

_SEARCH = "search.json"
_KIND = "a search that has not ended"
_TRIAL = re.compile(r"trial-\d+")

logger = logging.getLogger(__name__)


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
    """What a search found.

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
        out: The run folder of the best training; the others' weights are not kept.
        grid: Options of `train` with the values to try; default: `BETO_GRID`.
        sampler: `grid` tries all combinations in random order; `tpe` (Bergstra et al. 2011) looks where it was good.
        trials: How many; default: the whole grid.
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
    _check_alone()
    options = {**options, "seed": seed}
    study = _study(space, sampler, seed)
    folder = out.absolute().with_name(f"{out.name}.tune")
    _check_search_folder(folder)
    _open(folder, {"task": task, "space": space, "sampler": sampler, "options": options})
    done: list[Trial] = []

    def objective(trial: Any) -> float:
        chosen = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
        first = {"on_start": on_start} if on_start and not done else {}
        result = _trial(task, trial.number, chosen, folder, {**options, **first})
        done.append(result)
        if on_trial is not None:
            on_trial(result, count)
        return result.score

    study.optimize(objective, n_trials=count)
    best = max(done, key=lambda trial: trial.score)
    found = folder / f"trial-{best.number}"
    if not (found / "run.json").is_file():  # a crash in between
        _train(task, best.number, best.options, folder, options)
    move_run(found, out)
    _remove_ours(folder)
    return TuneResult(done, best, read_run(out))


def _check_alone() -> None:
    if world_size() > 1:
        raise ConfigError("dlfa tune runs in one process; start it without torchrun or accelerate launch.")


def _open(folder: Path, search: dict[str, Any]) -> None:
    """Go on with what an earlier call of the same search has left; what another search has left goes."""
    identity = hashlib.sha256(json.dumps(search, sort_keys=True, default=str).encode()).hexdigest()
    record = folder / _SEARCH
    if is_marked(folder, _KIND) and _read(record).get("identity") == identity:
        return
    mark(folder, _KIND)
    _remove_ours(folder, empty_it=True)
    write_json(record, {"identity": identity})


def _check_search_folder(folder: Path) -> None:
    if folder.is_symlink() or not (is_empty(folder) or is_marked(folder, _KIND)):
        what = "is a symbolic link" if folder.is_symlink() else "is not a folder that this library made"
        raise ConfigError(
            f"The trials of the search would come into {folder}, which {what}; move it away, or give another folder "
            "with --out."
        )


def _remove_ours(folder: Path, *, empty_it: bool = False) -> None:
    """Delete the trials of a search; what others have put there stays, and is said."""
    for trial in folder.glob("trial-*"):
        if _TRIAL.fullmatch(trial.name) and trial.is_dir():
            remove_work(trial)
            remove_drafts(trial)
            remove_run(trial)

    def ours(name: str) -> bool:
        return name == _SEARCH or is_draft(name) or (name.endswith(".json") and _TRIAL.fullmatch(name[:-5]) is not None)

    if stay := remove(folder, ours, _SEARCH, empty_it=empty_it):
        logger.warning("%s stays: %s is not of the search.", folder, ", ".join(stay[:3]))


def _read(record: Path) -> dict[str, Any]:
    """What a file of the search says; nothing where it is not there or damaged."""
    try:
        return dict(json.loads(record.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


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
    """Train, or take what an earlier call of the same search has found: samplers repeat themselves for a seed."""
    record = folder / f"trial-{number}.json"
    saved = _read(record)
    if saved.get("options") == chosen and isinstance(saved.get("score"), float):
        return Trial(number, chosen, saved["score"])
    trial = _train(task, number, chosen, folder, options)
    write_json(record, {"options": chosen, "score": trial.score})
    for other in folder.glob("trial-*.json"):  # only the best so far keeps its weights
        if _read(other).get("score", trial.score) < trial.score:
            remove_run(folder / other.stem)
        elif other.stem != record.stem:
            remove_run(folder / record.stem)
    return trial


def _train(task: str, number: int, chosen: dict[str, Any], folder: Path, options: dict[str, Any]) -> Trial:
    run = train(task, out=folder / f"trial-{number}", resume="auto", **options, **chosen)
    metrics = run.config["metrics"]["dev"]
    if metrics is None:
        raise ConfigError("A search needs dev data in the source language; name some with --dev.")
    score = metrics if isinstance(metrics, float) else next(iter(metrics.values()))
    return Trial(number, chosen, score)
