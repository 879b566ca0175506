"""Files that are complete or not there: drafts beside their place, a full disk in one sentence, checksums."""

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, DLFAError

SUFFIX = ".dlfa-draft"
"""Of what is being written beside its place, as `.NAME-PROCESS.dlfa-draft`: no user's file has such a name."""

_PATTERN = re.compile(rf"\..+-(\d+)(-[a-z0-9_]+)?{re.escape(SUFFIX)}")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_CODES = (errno.ENOSPC, errno.EFBIG, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else []))
_WORDS = (
    *(os.strerror(code) for code in _CODES),
    *(f"(os error {code})" for code in _CODES),  # as safetensors and tokenizers say it
    "inline_container",  # torch.save
    "PytorchStreamWriter",
)


class DiskFullError(DLFAError, OSError):
    """There is no room where something was to be written."""


@contextmanager
def writing(place: Path, needs: int | None = None, written: Callable[[], int] | None = None) -> Iterator[None]:
    """Say where there is no room, and how much is needed, if what is written meanwhile fails for that reason.

    Args:
        place: What is being written.
        needs: How many bytes that is, about; None: not known.
        written: Where that is not known, tells how much had been written.

    Raises:
        DiskFullError: Naming the place, the room that it needs and the room that there is.
    """
    try:
        yield
    except DiskFullError:
        raise
    except Exception as error:
        if not is_full(error):
            raise
        done = 0 if needs is not None or written is None else written()
        need = f"it needs {in_bytes(needs)}" if needs else f"it needs more than {in_bytes(done)}" if done else ""
        free = f"there were {in_bytes(free_disk(place.parent) + done)}"
        raise DiskFullError(
            f"{place} cannot be written, the disk is full: {', '.join(filter(None, (need, free)))}; make room and call "
            "the same again, or give another place."
        ) from error


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or what led to it, is that of a full disk or quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _CODES:
            return True
        if not isinstance(error, OSError) and any(words in str(error) for words in _WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def free_disk(folder: Path) -> int:
    """Bytes that are free where a folder is or will be."""
    return shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free


def size_of(path: Path) -> int:
    """Bytes in a file, or in all files of a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)


def in_bytes(size: int) -> str:
    """A size for people: `4.1 GB`."""
    value, units = float(size), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while value >= 1000 and unit != "TB":
        value, unit = value / 1000, next(units)
    return f"{value:.0f} {unit}" if unit in ("B", "kB") else f"{value:.1f} {unit}"


def parse_bytes(text: str) -> int:
    """Bytes from `20GB`, `500 MB`, `4 GiB` or a plain number.

    Raises:
        ConfigError: If it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if match is None:
        raise ConfigError(f"expected a size such as 20GB or 500MB, got {text!r}.")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** _POWERS[match[2]])


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
    drafts = []
    for draft in sorted(beside.glob(f"{glob.escape(f'.{path.name}-')}*{SUFFIX}")):
        match = re.fullmatch(rf"(\d+)(-[a-z0-9_]+)?{re.escape(SUFFIX)}", draft.name.removeprefix(f".{path.name}-"))
        if match and not draft.is_symlink() and not _runs(int(match[1])):
            drafts.append(draft)
    return drafts


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


def write_json(path: Path, content: Mapping[str, Any], *, allow_nan: bool = True) -> None:
    """Write a JSON file that is complete or not there."""
    with write_whole(path) as draft:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=allow_nan) + "\n", "utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file says; nothing where it is not there, damaged, or no mapping."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def write_text(path: Path, text: str) -> None:
    """Write a file that a user has named, in UTF-8: complete, or not at all.

    What is behind a link is replaced, not the link; a device or a pipe is written to.

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


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()
