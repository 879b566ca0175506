"""SIB-200: sentences of FLORES-200 with one of seven topics (Adelani et al. 2024, arXiv 2309.07445).

A header `index_id category text`; sentences are parallel across languages by `index_id`.
"""

from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read
from dlfa_adapters.data.readers.table import finish_table, read_records, to_examples

_ORDERS = {3: ("id", "label", "text")}


def read_sib200(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read a SIB-200 file.

    Args:
        path: The file.
        strict: Whether the first bad row raises.

    Returns:
        The sentences with their topics; `id` is `index_id`.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(path, notes, _ORDERS, required=("text", "label", "id"))
    return finish_table(to_examples(records), "sib200", path, notes)
