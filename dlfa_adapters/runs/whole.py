"""Files that are whole or not there."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Write a file beside its place, bring it to the disk, and rename it; what was there before is replaced.

    The folder is made if it is not there.

    Args:
        path: Where the file shall be.

    Yields:
        Where to write it. After an exception nothing is renamed.
    """
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts_of(path: Path) -> None:
    """Delete what processes that were killed while they wrote this file have left beside it."""
    for draft in path.parent.glob(f".{path.name}-*"):
        if draft.name.removeprefix(f".{path.name}-").isdecimal():
            draft.unlink()
