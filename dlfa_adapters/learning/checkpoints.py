"""Checkpoints that are whole or not there."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dlfa_adapters.ground.files import DiskFullError, sha256_of, size_of, write_json, writing
from dlfa_adapters.ground.running import is_main, wait_for_everyone

logger = logging.getLogger(__name__)

MANIFEST = "complete.json"
"""Written last, by a rename: a checkpoint without it was cut short."""


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


def last_checkpoint(folder: Path, resume: bool) -> Path | None:
    """The last whole checkpoint of a training that is resumed, in every process; None where none is."""
    wait_for_everyone()  # until the main process has written the plan
    if not resume:
        return None
    found = last_whole(folder) if is_main() else None  # which deletes what was cut short
    wait_for_everyone()
    return found if is_main() else last_whole(folder)


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
