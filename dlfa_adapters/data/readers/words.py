"""Words without tags, one a line, a blank line between sentences: XTREME's test files, whose tags it withholds."""

from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import read_blocks, write_rows


def read_words(path: str | Path, *, strict: bool = True) -> Read[Sentence]:
    """Read sentences of words without tags.

    Args:
        path: The file.
        strict: Whether the first bad row raises.

    Returns:
        Sentences whose `tags` are None.

    Raises:
        DataError: The file cannot be read, or (when strict) a row has more than one column.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    items = [
        Sentence([row[0] for row in block.rows], None, str(index), block.lines)
        for index, block in enumerate(read_blocks(lines, notes, "\t", 1))
    ]
    if lines and not items:
        notes.warn(None, "empty", "there is no sentence in the file")
    return Read(items, "words", path, notes.problems, notes.dropped, None, 0)


def write_words(path: str | Path, sentences: Sequence[Sentence]) -> None:
    """Write words alone, one a line.

    Args:
        path: The file to write.
        sentences: Sentences; tags are not written.

    Raises:
        DataError: A word is empty or holds a TAB or a line end, or a sentence is empty.
    """
    write_rows(str(path), [[[word] for word in item.words] for item in sentences])
