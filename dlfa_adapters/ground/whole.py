"""Files that are whole or not there."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dlfa_adapters.ground.drafts import SUFFIX, left_drafts, prefix_of


@contextlib.contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Write a file beside its place, bring it to the disk, and rename it; what was there before is replaced.

    The folder is made if it is not there.

    Args:
        path: Where the file shall be.

    Yields:
        Where to write it. After an exception nothing is renamed.
    """
    draft = path.with_name(f"{prefix_of(path)}{SUFFIX}")
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
    for draft in left_drafts(path):
        if draft.is_file():
            draft.unlink()
