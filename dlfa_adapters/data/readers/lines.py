r"""Lines of a text file, read the same way by every reader and on every machine.

UTF-8 whatever the locale says, plain or packed by gzip. A byte order mark at the start of the file or, where files were
joined, at the start of a line is no part of a word. Lines end at LF only (not at U+2028, U+0085 or a form feed, which
occur inside words), and a CR before the LF belongs to the line end; in a file without LF, CR ends a line. Words are
not touched.
"""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.ground.errors import DataError

PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"
_MARK = "\ufeff"
_NO_TEXT = {
    PARQUET: "a Parquet file; name tokens, labelled, xnli or pawsx with --format (format=)",
    b"PK\x03\x04": "a ZIP archive (or a spreadsheet); unpack it, or save it as CSV",
    b"BZh": "packed by bzip2; unpack it, e.g. with: bunzip2",
    b"\xfd7zXZ\x00": "packed by xz; unpack it, e.g. with: unxz",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it, e.g. with: unzstd",
    b"%PDF-": "a PDF",
}


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
    return decode_lines(read_bytes(path), str(path), notes)


def decode_lines(data: bytes, name: str, notes: Notes) -> list[str]:
    """All lines of some bytes, as `read_lines` gives those of a file; `name` is what an error calls them.

    Raises:
        DataError: The bytes are not UTF-8.
    """
    text = decode_text(data, name, notes)
    if "\n" not in text.removesuffix("\n") and "\r" in text.removesuffix("\n").removesuffix("\r"):
        text = text.replace("\r\n", "\r").replace("\r", "\n")
        notes.warn(None, "cr_line_ends", "lines end in CR alone, as on old Macs; they are read as lines")
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if _MARK in text:
        _cut_marks(lines, notes)
    return lines


def iter_lines(path: str | Path, notes: Notes) -> Iterator[str]:
    """The lines of a file one after the other, for text that is larger than the memory; see `read_lines`.

    Raises:
        DataError: The path is missing, a folder, unreadable, or not UTF-8.
    """
    path = Path(path)
    if path.is_dir():
        _bytes(path)  # which says what to type
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as file:
            first, second = file.readline(), file.readline()
            if not second:  # all there is; its lines may end in CR
                yield from decode_lines(first, str(path), notes)
                return
            yield decode_text(first, str(path), notes).removesuffix("\n").removesuffix("\r")
            for number, line in enumerate(chain([second], file), 2):
                try:
                    text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
                except UnicodeDecodeError as error:
                    raise DataError(f"{path}, line {number}: {_not_utf8(line, error)}") from None
                yield text[1:] if _has_mark(text) else text
    except FileNotFoundError:
        raise DataError(f"{path}: expected a file, but there is none of this name") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def decode_text(data: bytes, name: str, notes: Notes) -> str:
    """Some bytes as text, without a byte order mark at their start; for the arguments see `decode_lines`.

    Raises:
        DataError: The bytes are not UTF-8, or no text at all.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: expected UTF-8, but this is UTF-16; convert it with: iconv -f UTF-16 -t UTF-8")
    if not data:
        notes.warn(None, "empty", "the file is empty")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        for magic, what in _NO_TEXT.items():
            if data.startswith(magic):
                raise DataError(f"{name}: expected text in UTF-8, but this is {what}") from None
        if b"\0" in data:
            raise DataError(f"{name}: expected text in UTF-8, but these bytes are no text") from None
        return _report_bad_bytes(data, notes)


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines as UTF-8 with LF after each, the form in which `read_lines` gives them back unchanged.

    Raises:
        DataError: A line holds a line feed, ends in a carriage return, or cannot be encoded.
    """
    out = []
    for number, line in enumerate(lines, 1):
        if "\n" in line or line.endswith("\r"):
            raise DataError(f"{path}, line {number}: a line end inside a word or tag cannot be written: {line!r}")
        # A word that begins with U+FEFF is no byte order mark.
        out.append((_MARK if (number == 1 and line.startswith(_MARK)) or _has_mark(line) else "") + line + "\n")
    try:
        Path(path).write_bytes("".join(out).encode("utf-8"))
    except UnicodeEncodeError as error:
        raise DataError(f"{path}: expected Unicode text, but there is a lone surrogate: {error.reason}") from error


def bare_name(path: str | Path) -> Path:
    """The name of a file in lower case, without `.gz`."""
    return Path(Path(path).name.lower().removesuffix(".gz"))


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file, unpacked where gzip packed it.

    Raises:
        DataError: The path is missing, a folder, unreadable, or cut short.
    """
    data = _bytes(Path(path))
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a file packed by gzip, but it cannot be unpacked: {error}") from error


def _has_mark(line: str) -> bool:
    """Whether a line begins with a byte order mark that is no word by itself (PAN-X has such words)."""
    return line.startswith(_MARK) and line[1:2] not in ("", "\t", " ")


def _cut_marks(lines: list[str], notes: Notes) -> None:
    """Cut byte order marks off the starts of lines, where files that had one were joined."""
    marked = [index for index, line in enumerate(lines) if index and _has_mark(line)]
    for index in marked:
        lines[index] = lines[index][1:]
    if marked:
        count = f"{len(marked)} lines begin" if len(marked) > 1 else "a line begins"
        message = f"{count} with a byte order mark, as where files were joined; it is left out"
        notes.warn(marked[0] + 1, "byte_order_mark", message)


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
            notes.error(number, "encoding", _not_utf8(line, error))
    return data.decode("utf-8", errors="replace")


def _not_utf8(line: bytes, error: UnicodeDecodeError) -> str:
    return (
        f"expected UTF-8, but got byte 0x{line[error.start]:02X} at position {error.start + 1}; "
        "convert the file first, e.g. with: iconv -f CP1252 -t UTF-8"
    )
