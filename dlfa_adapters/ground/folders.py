"""Folders that are whole or not there, in place of an earlier one of the same kind."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dlfa_adapters.ground.disk import size_of, writing
from dlfa_adapters.ground.drafts import SUFFIX, left_drafts, prefix_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.own import Ours, remove

logger = logging.getLogger(__name__)


@contextmanager
def draft_beside(folder: Path) -> Iterator[Path]:
    """A new folder beside a place, which is deleted at the end if it is still there; its parent is made.

    Raises:
        DiskFullError: If there is no room for what is written into it.
    """
    folder = folder.absolute()
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f"{prefix_of(folder)}-", suffix=SUFFIX, dir=folder.parent))
    try:
        draft.chmod(0o755)  # mkdtemp makes it private
        with writing(folder, written=lambda: size_of(draft)):
            yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def put_in_place(draft: Path, folder: Path, record: str, ours_in: Callable[[Path], Ours]) -> None:
    """Rename a folder that is whole, in place of an earlier one.

    That takes two renames: there is no portable way to exchange two folders at once. Where a process is killed between
    them, the earlier folder stands aside, and `bring_back` puts it back at the next use. What was in the earlier folder
    and is not ours is kept, in a folder beside it, and said.

    Args:
        draft: The new folder, on the same file system.
        folder: Its place.
        record: The file by which such a folder is known.
        ours_in: Which files of an earlier folder are ours, from what stands in it; they are deleted.

    Raises:
        ConfigError: If a link stands there.
    """
    folder = folder.absolute()
    bring_back(folder, record, ours_in)
    if folder.is_symlink():
        raise ConfigError(f"{folder} is a symbolic link; give the folder itself, {os.path.realpath(folder)}.")
    for tries_left in (2, 1, 0):  # a reader that comes between the two renames brings the earlier folder back
        if folder.exists():
            folder.rename(_aside(folder))
        try:
            draft.rename(folder)
            break
        except OSError:
            if not folder.exists() or not tries_left:
                raise
    bring_back(folder, record, ours_in)


def bring_back(folder: Path, record: str, ours_in: Callable[[Path], Ours]) -> None:
    """Mend what a process has left that was killed while it replaced a folder.

    If the folder is missing, the earlier one comes back. If it is there, the earlier one is deleted.

    Args:
        folder: The place.
        record: The file by which such a folder is known.
        ours_in: Which files of an earlier folder are ours, from what stands in it; they are deleted.
    """
    folder = folder.absolute()
    if not folder.name:  # the root, beside which there is nothing
        return
    aside = _aside(folder)
    if not aside.is_dir() or aside.is_symlink():
        return
    if not os.path.lexists(folder):
        with suppress(OSError):  # another process was faster, or nothing can be written here
            aside.rename(folder)
            logger.warning("%s was being replaced when a process was killed; the earlier one is back.", folder)
        return
    with suppress(FileNotFoundError, PermissionError):  # another process was faster, or may and we may not
        _clear(aside, folder, record, ours_in)


def _clear(aside: Path, folder: Path, record: str, ours_in: Callable[[Path], Ours]) -> None:
    """Delete the earlier folder; what is not ours is kept beside the new one, and said."""
    if remove(aside, ours_in(aside), last=record):
        kept = next(
            path for n in range(1, 10**6) if not os.path.lexists(path := folder.with_name(f"{folder.name}-earlier-{n}"))
        )
        aside.rename(kept)
        logger.warning("%s was replaced; what else was in it is kept in %s.", folder, kept)


def remove_drafts(folder: Path) -> None:
    """Delete what processes that were killed while they wrote this folder have left beside it."""
    for draft in left_drafts(folder):
        if draft.is_dir():
            shutil.rmtree(draft)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{SUFFIX}-earlier")
