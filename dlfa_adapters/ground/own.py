"""What this library may delete: in folders that it has marked, the files that it writes. Links are never followed."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from dlfa_adapters.ground.drafts import is_draft
from dlfa_adapters.ground.whole import write_whole

MARKER = "made-by-dlfa.json"
"""In a folder that this library made, and may empty again: a working folder, or a sweep's."""

_NOBODYS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave behind."""

Ours = Callable[[str], bool]
"""Whether a file is one that this library writes, by its path in the folder, with `/`."""


def mark(folder: Path, kind: str) -> None:
    """Make a folder, if need be, and mark it as made by this library.

    Args:
        folder: The folder; empty, or known to be ours.
        kind: What it is, in words for people.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not is_marked(folder, kind):
        with write_whole(folder / MARKER) as draft:
            draft.write_text(json.dumps({"made_by": "dlfa_adapters", "kind": kind}) + "\n", "utf-8")


def is_marked(folder: Path, kind: str) -> bool:
    """Whether a folder has been marked as one of this kind; never through a link."""
    path = folder / MARKER
    if folder.is_symlink() or path.is_symlink():
        return False
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return bool(told == {"made_by": "dlfa_adapters", "kind": kind})


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
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        found += [Path(place, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(found)
