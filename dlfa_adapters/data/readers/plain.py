"""Plain text, one sentence or paragraph a line; and pairs of words or sentences, two columns a line.

Plain text is for domain adaptation and the analyses; pairs are dictionaries (XLING-BLI, MUSE) and parallel text.
"""

from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, shown
from dlfa_adapters.data.readers.lines import read_lines


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
