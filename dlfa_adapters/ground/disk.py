"""A full disk, said in one sentence with the place, whichever library was writing."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dlfa_adapters.ground.errors import ConfigError, DLFAError

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
