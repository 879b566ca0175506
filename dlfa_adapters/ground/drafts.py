"""Names of what is being written beside its place: `.NAME-PROCESS.dlfa-draft`, which no user's file has."""

import os
import re
from pathlib import Path

SUFFIX = ".dlfa-draft"
_PATTERN = re.compile(rf"\..+-(\d+)(-[a-z0-9_]+)?{re.escape(SUFFIX)}")


def is_draft(name: str) -> bool:
    """Whether a file or folder of this name is a draft of this library."""
    return _PATTERN.fullmatch(name) is not None


def prefix_of(path: Path) -> str:
    """How the names of this process's drafts of a file or folder begin."""
    return f".{path.name}-{os.getpid()}"


def left_drafts(path: Path) -> list[Path]:
    """Drafts of a file or folder that processes have left which were killed.

    Those of another process that still runs on this machine are not among them.
    """
    beside = path.absolute().parent
    found = []
    for draft in sorted(beside.glob(f"{_escaped(f'.{path.name}-')}*{SUFFIX}")):
        match = re.fullmatch(rf"(\d+)(-[a-z0-9_]+)?{re.escape(SUFFIX)}", draft.name.removeprefix(f".{path.name}-"))
        if match and not draft.is_symlink() and not _runs(int(match[1])):
            found.append(draft)
    return found


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _runs(process: int) -> bool:
    """Whether another process of this number runs."""
    if os.name == "nt" or process == os.getpid():  # on Windows signal 0 would end it
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
