r"""MLDoc (Schwenk and Li 2018, arXiv 1805.09821): news of Reuters RCV1 and RCV2, one of four topics TAB the document.

The files are made from the two corpora by the script of MLDoc, a folder for each language, such as
`english/english.train.1000`, `english/english.dev`, `german/german.test`. Run by Python 3, that script writes each
document as Python shows bytes, `b'Caf\xc3\xa9'`; such files are read as what was meant.
"""

import ast
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.table import finish_table
from dlfa_adapters.tasks import MLDOC


def is_mldoc(lines: Sequence[str]) -> bool:
    """Whether every line is one of the four topics, a TAB and a document."""
    rows = [line.partition("\t") for line in lines if line.strip()]
    return bool(rows) and all(label in MLDOC.labels and tab for label, tab, _ in rows)


def read_mldoc(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read a file of MLDoc.

    Returns:
        The documents; the first TAB of a line ends the topic, and later ones belong to the document.

    Raises:
        DataError: The file cannot be read, or (when strict) a line has no TAB.
    """
    notes = Notes(path, strict)
    items, bytes_shown = [], 0
    for number, line in enumerate(read_lines(path, notes), 1):
        if not line.strip():
            notes.drop("empty_line")
            continue
        label, tab, text = line.partition("\t")
        if not tab:
            notes.bad_row(
                number, "columns", f"expected a topic, a TAB and a document, but there is no TAB: {shown(line)}"
            )
            continue
        meant = _meant(text)
        bytes_shown += meant is not None
        items.append(Example(text if meant is None else meant, None, label, str(number - 1), number))
    if bytes_shown:
        notes.warn(
            None, "bytes", f"{bytes_shown} documents are written as Python shows bytes, b'...', and were read so"
        )
    return finish_table(items, "mldoc", notes)


def _meant(text: str) -> str | None:
    """The text of which `text` is how Python shows its bytes in UTF-8; None where it is not."""
    if text[:2] not in ("b'", 'b"') or text[-1] != text[1]:
        return None
    try:
        value = ast.literal_eval(text)
        return value.decode("utf-8") if isinstance(value, bytes) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
