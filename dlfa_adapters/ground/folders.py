"""Folders that are complete or not there, in place of an earlier one; what this library may delete in them."""

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import (
    SUFFIX,
    is_draft,
    left_drafts,
    prefix_of,
    read_json,
    size_of,
    write_whole,
    writing,
)

logger = logging.getLogger(__name__)

MARKER = "made-by-dlfa.json"
"""In a folder that this library made, and may empty again: a working folder, or a sweep's."""

_NOBODYS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave behind."""

Ours = Callable[[str], bool]
"""Whether a file is one that this library writes, by its path in the folder, with `/`."""


def mark(folder: Path, kind: str) -> None:
    """Make a folder, if need be, and mark it as made by this library, with its kind in words for people."""
    folder.mkdir(parents=True, exist_ok=True)
    if not is_marked(folder, kind):
        with write_whole(folder / MARKER) as draft:
            draft.write_text(json.dumps({"made_by": "dlfa_adapters", "kind": kind}) + "\n", "utf-8")


def is_marked(folder: Path, kind: str) -> bool:
    """Whether a folder has been marked as one of this kind; never through a link."""
    path = folder / MARKER
    if folder.is_symlink() or path.is_symlink():
        return False
    return read_json(path) == {"made_by": "dlfa_adapters", "kind": kind}


def is_empty(folder: Path) -> bool:
    """Whether nothing is there, or an empty folder."""
    return not os.path.lexists(folder) or (
        folder.is_dir() and not folder.is_symlink() and not [e for e in os.listdir(folder) if not is_draft(e)]
    )


def others(folder: Path, ours: Ours) -> list[str]:
    """Files and links in a folder that are not ours, by their path in it."""
    return [name for name in _files(folder) if not ours(name) and os.path.basename(name) not in _NOBODYS]


def remove(folder: Path, ours: Ours, last: str | None = None, *, empty_it: bool = False) -> list[str]:
    """Delete our files in a folder, and the folders that are empty then; the marker last, and only if nothing stays.

    Args:
        folder: The folder; nothing happens if it is a link.
        ours: Which files are ours.
        last: The file by which the folder is known; deleted when the others are, so that a process that is killed
            meanwhile leaves a folder that is known.
        empty_it: Leave the folder itself, and its marker.

    Returns:
        What stays because it is not ours, by its path in the folder; the folder itself then stays too.
    """
    if folder.is_symlink() or not folder.is_dir():
        return []
    stay = others(folder, lambda name: name == MARKER or _is_ours(folder, name, ours))
    names = [name for name in _files(folder) if name not in (MARKER, last)]
    for name in (*names, *([last] if last and ours(last) else []), *([] if stay or empty_it else [MARKER])):
        path = folder / name
        if not stay or _is_ours(folder, name, ours):  # without others, what is left is a file manager's
            path.unlink(missing_ok=True)
    for place, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(place) and not (empty_it and Path(place) == folder):
            os.rmdir(place)
    return stay


def _is_ours(folder: Path, name: str, ours: Ours) -> bool:
    return ours(name) and not (folder / name).is_symlink()


def _files(folder: Path) -> list[str]:
    """Files, and links to whatever, by their path in the folder."""
    names: list[str] = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        names += [Path(place, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(names)


def check_writable(path: Path) -> None:
    """Refuse a place where no file or folder can be made, before hours of work are to be written there.

    Raises:
        ConfigError: If what stands nearest above it is not a folder, or not one to write in.
    """
    try:
        absolute = Path(path).absolute()
        above = next(folder for folder in (*absolute.parents, absolute) if folder.exists())  # the root has no parents
    except PermissionError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; give another place.") from None
    if not above.is_dir():
        raise ConfigError(f"{path} cannot be written: {above} is not a folder; give another place.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ConfigError(f"{path} cannot be written: {above} is read-only for you; give another place.")


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
    """Rename a folder that is complete, in place of an earlier one.

    That takes two renames: there is no portable way to exchange two folders at once. Where a process is killed between
    them, the earlier folder stands aside, and `bring_back` puts it back at the next use. What was in the earlier folder
    and is not ours is moved to a folder beside it, with a warning.

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

    If the folder is missing, the earlier one comes back. If it is there, the earlier one is deleted. The arguments are
    those of `put_in_place`.
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
    """Delete the earlier folder; what is not ours is moved beside the new one, with a warning."""
    if remove(aside, ours_in(aside), last=record):
        leftovers = next(
            path for n in range(1, 10**6) if not os.path.lexists(path := folder.with_name(f"{folder.name}-earlier-{n}"))
        )
        aside.rename(leftovers)
        logger.warning("%s was replaced; what else was in it is kept in %s.", folder, leftovers)


def remove_drafts(folder: Path) -> None:
    """Delete what processes that were killed while they wrote this folder have left beside it."""
    for draft in left_drafts(folder):
        if draft.is_dir():
            shutil.rmtree(draft)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{SUFFIX}-earlier")
