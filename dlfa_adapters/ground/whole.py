"""Files that are whole or not there."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dlfa_adapters.ground.disk import size_of, writing
from dlfa_adapters.ground.drafts import SUFFIX, left_drafts, prefix_of


@contextlib.contextmanager
def write_whole(path: Path, needs: int | None = None) -> Iterator[Path]:
    """Write a file beside its place, bring it to the disk, and rename it; what was there before is replaced.

    The folder is made if it is not there.

    Args:
        path: Where the file shall be.
        needs: How many bytes it has, about; None: not known.

    Yields:
        Where to write it. After an exception nothing is renamed.

    Raises:
        DiskFullError: If there is no room.
    """
    draft = path.with_name(f"{prefix_of(path)}{SUFFIX}")
    try:
        with writing(path, needs, lambda: size_of(draft)):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file that a user has named: whole, or not at all.

    What is behind a link is replaced, not the link; a device or a pipe is written to.

    Args:
        path: The file.
        text: What goes into it, as UTF-8.

    Raises:
        DiskFullError: If there is no room.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        path.write_text(text, "utf-8")
        return
    path = Path(os.path.realpath(path))
    with write_whole(path, len(text.encode())) as draft:
        draft.write_text(text, "utf-8")


def remove_drafts_of(path: Path) -> None:
    """Delete what processes that were killed while they wrote this file have left beside it."""
    for draft in left_drafts(path):
        if draft.is_file():
            draft.unlink()
