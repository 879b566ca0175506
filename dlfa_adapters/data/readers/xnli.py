"""XNLI and MultiNLI: premise, hypothesis, and one of three labels (Conneau et al. 2018, arXiv 1809.05053).

Read as published (tsv with a header, jsonl), as XTREME's script leaves it (premise, hypothesis, label without a
header; no label in its test files), and with columns in any order under a header. The training file spells one label
`contradictory` and the test files `contradiction`: one class. `-` means that the annotators did not agree: left out.
"""

from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read
from dlfa_adapters.data.readers.table import finish_table, read_records, to_examples, undo_csv_quotes

LABEL_SPELLINGS = {"contradictory": "contradiction"}
_ORDERS = {2: ("text", "text_pair"), 3: ("text", "text_pair", "label")}


def read_xnli(path: str | Path, *, strict: bool = True) -> Read[Example]:
    """Read an NLI file.

    Args:
        path: The file.
        strict: Whether the first bad row raises.

    Returns:
        The pairs. Rows with the label `-` are counted in `dropped` as `no_gold_label`; ids are row numbers counted
        before that, so they stay aligned across languages. An unknown label is kept as it is.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    notes = Notes(path, strict)
    records = read_records(path, notes, _ORDERS, required=("text", "text_pair"))
    undo_csv_quotes(records, notes)
    items = []
    for example in to_examples(records):
        if example.label == "-":
            notes.drop("no_gold_label")
            continue
        example.label = LABEL_SPELLINGS.get(example.label or "", example.label)
        items.append(example)
    return finish_table(items, "xnli", path, notes)
