"""Checkpoints that are whole or not there, and the folder of a training that has not ended."""

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, RunError, mend, wrong_in
from dlfa_adapters.ground.files import DiskFullError, is_draft, sha256_of, size_of, write_whole, writing
from dlfa_adapters.ground.folders import is_empty, is_marked, mark, remove
from dlfa_adapters.ground.running import is_main
from dlfa_adapters.runs.schema import training_schema

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

MANIFEST = "complete.json"
"""Written last, by a rename: a checkpoint without it was cut short."""

_PLAN = "training.json"
_KIND = "a training that has not ended"
_OURS = re.compile(
    r"training\.json|(states/[^/]+|epoch|epoch\.before)\.safetensors|checkpoint-\d+/.*"
    r"|runs/.*"  # curves, where --report-to tensorboard writes them
)


def work_folder(run: Path) -> Path:
    """Where a training keeps its checkpoints until its run folder is written: `runs/ner.training` for `runs/ner`."""
    return run.absolute().with_name(f"{run.name}.training")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file that is whole or not there."""
    with write_whole(path) as draft:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")


def check_work_folder(run: Path) -> None:
    """Refuse a training whose checkpoints would come into a folder that another program or a person has made.

    Raises:
        ConfigError: If something stands there that this library did not make.
    """
    folder = work_folder(run)
    if folder.is_symlink() or not (is_empty(folder) or is_marked(folder, _KIND) or _has_our_plan(folder)):
        what = "is a symbolic link" if folder.is_symlink() else "is not a folder that this library made"
        raise ConfigError(
            f"The checkpoints of {run} would come into {folder}, which {what}; move it away, or give another folder "
            "with --out."
        )


def write_plan(folder: Path, plan: dict[str, Any]) -> None:
    """Begin the folder of a training; an earlier one's checkpoints go."""
    mark(folder, _KIND)
    _remove_ours(folder, empty_it=True)
    write_json(folder / _PLAN, plan)


def remove_work(run: Path) -> None:
    """Delete the working folder of a training that is done; what others have put there stays, and is said."""
    folder = work_folder(run)
    if is_marked(folder, _KIND):
        _remove_ours(folder)


def _remove_ours(folder: Path, *, empty_it: bool = False) -> None:
    def ours(name: str) -> bool:
        return _OURS.fullmatch(name) is not None or is_draft(name.rpartition("/")[2])

    stay = remove(folder, ours, _PLAN, empty_it=empty_it)
    if stay:
        logger.warning("%s stays: %s is not of the training.", folder, ", ".join(stay[:3]))


def _has_our_plan(folder: Path) -> bool:
    try:
        return wrong_in(json.loads((folder / _PLAN).read_text("utf-8")), training_schema) is None
    except (OSError, ValueError, RecursionError):
        return False


@contextmanager
def alone(run: Path) -> Iterator[None]:
    """Keep every other training of this run away meanwhile: each would take the other's checkpoints for its own.

    The main process does it for all that train together. It is a lock on the folder beside the run, which ends with the
    process, however that ends. Windows and some network file systems have none; there nothing is kept from anybody.

    Raises:
        ConfigError: If another process trains it.
    """
    if not is_main():
        yield
        return
    folder = work_folder(run)
    check_work_folder(run)
    mark(folder, _KIND)
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(
                    f"Another process is training {run}; wait for it, or give another folder with --out."
                ) from None
        yield
    finally:
        os.close(held)


def has_plan(run: Path) -> bool:
    """Whether there is a training of this run that did not end."""
    return (work_folder(run) / _PLAN).is_file()


def read_plan(run: Path) -> dict[str, Any]:
    """What a training that did not end had been asked for.

    Raises:
        RunError: If there is no such training.
    """
    path = work_folder(run) / _PLAN
    try:
        plan = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(
            f"There is no training of {run} to resume ({path} is missing); start it without --resume."
        ) from None
    except (ValueError, RecursionError) as error:
        raise RunError(mend(path, str(error), "start the training again without --resume")) from error
    if wrong := wrong_in(plan, training_schema):
        raise RunError(mend(path, wrong, "start the training again without --resume"))
    return dict(plan)


@contextmanager
def removed_if_the_disk_is_full(checkpoint: Path) -> Iterator[None]:
    """Delete what was written of a checkpoint if there is no room for the rest; those before it stay.

    Raises:
        DiskFullError: With what the last checkpoint took, if there is one.
    """
    before = _checkpoints(checkpoint.parent)[-1:]
    needs = size_of(before[0]) if before and before[0] != checkpoint else None
    try:
        with writing(checkpoint, needs, lambda: size_of(checkpoint)):
            yield
    except DiskFullError:
        shutil.rmtree(checkpoint, ignore_errors=True)
        raise


def seal(checkpoint: Path) -> None:
    """Declare a checkpoint whole: list its files with their checksums."""
    files = {path.relative_to(checkpoint).as_posix(): sha256_of(path) for path in _files(checkpoint)}
    write_json(checkpoint / MANIFEST, {"files": files})


def is_whole(checkpoint: Path) -> bool:
    """Whether every file of a sealed checkpoint is there with the bytes that were written."""
    try:
        files = dict(json.loads((checkpoint / MANIFEST).read_text("utf-8"))["files"])
        there = {path.relative_to(checkpoint).as_posix(): path for path in _files(checkpoint)}
        return files.keys() == there.keys() and all(sha256_of(there[name]) == files[name] for name in files)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def last_whole(folder: Path) -> Path | None:
    """The latest whole checkpoint; those after it, which were cut short or are damaged, are deleted."""
    for checkpoint in reversed(_checkpoints(folder)):
        if is_whole(checkpoint):
            return checkpoint
        shutil.rmtree(checkpoint)
        logger.warning("%s was cut short or is damaged, and was deleted; the one before it counts.", checkpoint)
    return None


def prune(folder: Path, best: str | None) -> None:
    """Delete all checkpoints but the last two and the best; the newest must be sealed by then."""
    for checkpoint in _checkpoints(folder)[:-2]:
        if best is None or Path(best).name != checkpoint.name:
            shutil.rmtree(checkpoint)


def _checkpoints(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("checkpoint-*") if path.name.rpartition("-")[2].isdecimal()]
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))


def _files(checkpoint: Path) -> list[Path]:
    return [path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path.name != MANIFEST]
