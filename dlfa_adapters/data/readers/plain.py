"""Text without labels, and words without tags.

A sentence or paragraph a line is for domain adaptation and the analyses; pairs of words or sentences, two columns a
line, are dictionaries (XLING-BLI, MUSE) and parallel text; words, one a line with a blank line between sentences, are
XTREME's test files, whose tags it withholds.
"""

from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import read_blocks, write_rows


def read_text(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read plain text.

    Args:
        path: The file.
        strict: Whether a line that is not UTF-8 raises.

    Returns:
        One `Example` a line, without label; lines of blanks only are counted in `dropped` as `empty_line`.

    Raises:
        DataError: The file cannot be read.
    """
    notes = Notes(path, strict)
    items = []
    for number, line in enumerate(read_lines(path, notes), 1):
        if line.strip():
            items.append(Example(line, None, None, str(number - 1), number))
        else:
            notes.drop("empty_line")
    return Read(items, "text", path, notes.problems, notes.dropped)


def read_pairs(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read pairs: source TAB target.

    Args:
        path: The file.
        strict: Whether the first bad row raises.

    Returns:
        One `Example` a pair, without label.

    Raises:
        DataError: The file cannot be read, or (when strict) a line has not two columns.
    """
    notes = Notes(path, strict)
    items = []
    for number, line in enumerate(read_lines(path, notes), 1):
        if not line:
            notes.drop("empty_line")
            continue
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"expected 2 columns with a TAB between them, but got {len(cells)}: {shown(line)}"
            notes.error(number, "columns", message)
            notes.drop("bad_row")
            continue
        items.append(Example(cells[0], cells[1], None, str(number - 1), number))
    return Read(items, "pairs", path, notes.problems, notes.dropped)


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
