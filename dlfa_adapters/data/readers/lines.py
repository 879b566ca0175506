r"""Lines of a text file, read the same way by every reader and on every machine.

UTF-8 whatever the locale says, a byte order mark tolerated, lines end at LF only (not at U+2028, U+0085 or a form
feed, which occur inside words), and a CR before the LF belongs to the line end. Words are not touched.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.errors import DataError


def read_lines(path: str | Path, notes: Notes) -> list[str]:
    """All lines of a file, without line ends.

    Args:
        path: A file.
        notes: Where problems go. When not strict, a line that is not UTF-8 is recorded as an error, and comes back
            with U+FFFD in place of the bad bytes.

    Returns:
        The lines; an empty file gives none and a warning.

    Raises:
        DataError: The path is missing, a folder, unreadable, or not UTF-8.
    """
    return decode_lines(_bytes(Path(path)), str(path), notes)


def decode_lines(data: bytes, name: str, notes: Notes) -> list[str]:
    """All lines of some bytes, as `read_lines` gives those of a file.

    Args:
        data: The bytes.
        name: What they are called in an error, e.g. `standard input`.
        notes: Where problems go, as for `read_lines`.

    Raises:
        DataError: The bytes are not UTF-8.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: expected UTF-8, but this is UTF-16; convert it with: iconv -f UTF-16 -t UTF-8")
    if not data:
        notes.warn(None, "empty", "the file is empty")
        return []
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _report_bad_bytes(data, notes)
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines as UTF-8 with LF after each, the form in which `read_lines` gives them back unchanged.

    Raises:
        DataError: A line holds a line feed, ends in a carriage return, or cannot be encoded.
    """
    out = []
    for number, line in enumerate(lines, 1):
        if "\n" in line or line.endswith("\r"):
            raise DataError(f"{path}, line {number}: a line end inside a word or tag cannot be written: {line!r}")
        out.append(line + "\n")
    mark = "\ufeff" if out and out[0].startswith("\ufeff") else ""  # a first word U+FEFF is no byte order mark
    try:
        Path(path).write_bytes((mark + "".join(out)).encode("utf-8"))
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: expected Unicode text, but there is a lone surrogate: {error.reason}") from error


def _bytes(path: Path) -> bytes:
    if path.is_dir():
        inside = (Path(folder, name) for folder, _, names in sorted(os.walk(path)) for name in sorted(names))
        first = next((file for file in inside if not file.name.startswith(".")), None)
        hint = f"; name one of its files, e.g. {first}" if first else ", without any files"
        raise DataError(f"{path}: expected a file, but this is a folder{hint}")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: expected a file, but there is none of this name") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _report_bad_bytes(data: bytes, notes: Notes) -> str:
    """Name every line that is not UTF-8; the text comes back with U+FFFD in those places."""
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = f"0x{line[error.start]:02X}"
            notes.error(
                number,
                "encoding",
                f"expected UTF-8, but got byte {byte} at position {error.start + 1}; "
                "convert the file first, e.g. with: iconv -f CP1252 -t UTF-8",
            )
    return data.decode("utf-8", errors="replace")
