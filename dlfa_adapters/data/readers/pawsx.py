"""PAWS-X: two sentences, and 1 where they are paraphrases (Yang et al. 2019, arXiv 1908.11828).

Read as published (`id sentence1 sentence2 label`) and as XTREME's script leaves it (no header, no id; no label in its
test files). Some rows are no pairs: a sentence that is only "NS" (not a sentence), or blank. They are marked, not
dropped, so that row order and ids stay the same in all languages and a test keeps its official size; training leaves
them out (`dlfa_adapters.data.assemble`).
"""

from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read
from dlfa_adapters.data.readers.table import finish_table, read_records, to_examples, undo_csv_quotes

PLACEHOLDER = "NS"
_ORDERS = {
    2: ("text", "text_pair"),
    3: ("text", "text_pair", "label"),
    4: ("id", "text", "text_pair", "label"),
}


def flaw_of(text: str, text_pair: str) -> str | None:
    """`placeholder` or `blank` where a pair is none; a sentence that merely begins with NS is a sentence."""
    sides = (text.strip(), text_pair.strip())
    if PLACEHOLDER in sides:
        return "placeholder"
    return "blank" if "" in sides else None


def read_pawsx(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read a PAWS-X file.

    Args:
        path: The file.
        strict: Whether the first bad row raises.

    Returns:
        The pairs, the flawed ones marked in `flaw` and noted with their number.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(path, notes, _ORDERS, required=("text", "text_pair"))
    undo_csv_quotes(records, notes)
    items = to_examples(records)
    lines: dict[str, list[int]] = {}
    for example in items:
        example.flaw = flaw_of(example.text, example.text_pair or "")
        if example.flaw:
            lines.setdefault(example.flaw, []).append(example.line)
    for flaw, where in lines.items():
        meaning = 'is only "NS"' if flaw == "placeholder" else "is blank"
        notes.warn(where[0], flaw, f"{len(where)} rows have a sentence that {meaning}; training leaves them out")
    return finish_table(items, "pawsx", path, notes)
