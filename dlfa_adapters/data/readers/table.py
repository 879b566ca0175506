"""Rows with named fields, from tsv with or without a header and from jsonl: the ground of all classification formats.

A row is a line and a field ends at a TAB. Quotes are characters like any other, so no quote can swallow a line. One
thing is undone, and noted: XTREME's scripts write sentence pairs with Python's `csv.writer`, which turns `A "b" c` into
`"A ""b"" c"`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, shown
from dlfa_adapters.errors import DataError

# Every name that a published file or a common export uses for a field.
FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "sentence", "premise", "sentence1", "text1", "review", "tweet"),
    "text_pair": ("text_pair", "hypothesis", "hypo", "sentence2", "text2"),
    "label": ("label", "gold_label", "category", "class", "labels"),
    "id": ("id", "index_id", "idx", "pairid"),
    "language": ("language", "lang"),
}
_OWNER = {name: field for field, names in FIELD_NAMES.items() for name in names}
_CSV_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')


@dataclass(slots=True)
class Record:
    """One row: its line, its number (from 0) and its fields by the names of `FIELD_NAMES`."""

    line: int
    number: int
    fields: dict[str, str]


def header_fields(line: str) -> dict[str, int] | None:
    """Column of each field, if the line is a header; None if it is a row of data.

    A header names a text and at least one more field, so a first row of data is never taken for one.
    """
    cells = [cell.strip().lower() for cell in line.split("\t")]
    found: dict[str, int] = {}
    for column, cell in enumerate(cells):
        if (field := _OWNER.get(cell)) is not None:
            found.setdefault(field, column)
    return found if "text" in found and len(found) > 1 else None


def read_records(
    path: str | Path,
    lines: Sequence[str],
    notes: Notes,
    orders: Mapping[int, Sequence[str]],
    required: Sequence[str] = ("text",),
) -> list[Record]:
    """All rows of a tsv or jsonl file.

    Args:
        path: The file, for error texts.
        lines: Its lines.
        notes: Where problems go.
        orders: Number of columns of a file without a header -> the field of each column.
        required: Fields that every row must have.

    Returns:
        The rows, in order; empty lines are left out and counted.

    Raises:
        DataError: The file lacks a column, or (when strict) has a bad row.
    """
    if is_json(path, lines):
        return _json_records(lines, notes, required)
    records: list[Record] = []
    columns: dict[str, int] | None = None
    width = 0
    for number, line in enumerate(lines, 1):
        if not line:
            notes.drop("empty_line")
            continue
        cells = line.split("\t")
        if columns is None:
            width = len(cells)
            columns = header_fields(line)
            is_header = columns is not None
            columns = columns or _positions(path, number, line, orders)
            _require(path, number, columns, required)
            if is_header:
                continue
        if len(cells) != width:
            message = f"expected {width} columns with TABs between them, but got {len(cells)}: {shown(line)}"
            notes.error(number, "columns", message)
            notes.drop("bad_row")
        else:
            row = {field: cells[column] for field, column in columns.items()}
            records.append(Record(number, len(records), row))
    return records


def undo_csv_quotes(records: list[Record], notes: Notes) -> None:
    """Undo what `csv.writer` does to quotes, where every field with a quote in the file shows that it was at work."""
    quoted = [(record, name) for record in records for name, value in record.fields.items() if '"' in value]
    if quoted and all(_CSV_QUOTED.fullmatch(record.fields[name]) for record, name in quoted):
        for record, name in quoted:
            record.fields[name] = record.fields[name][1:-1].replace('""', '"')
        line = quoted[0][0].line
        notes.warn(line, "csv_quotes", f'{len(quoted)} fields had the quotes of csv.writer ("a ""b"""), now undone')


def to_examples(records: Sequence[Record]) -> list[Example]:
    """Examples from rows; without an id column the row number is the id."""
    return [
        Example(
            text=row.fields.get("text", ""),
            text_pair=row.fields.get("text_pair"),
            label=row.fields.get("label"),
            id=row.fields.get("id", str(row.number)),
            line=row.line,
            language=row.fields.get("language"),
            own_id="id" in row.fields,
        )
        for row in records
    ]


def finish_table(items: list[Example], format: str, path: str | Path, notes: Notes) -> Read[Example]:
    """The result of a classification reader, with a warning where no item is left."""
    if not items and not any(problem.kind == "empty" for problem in notes.problems):
        notes.warn(None, "empty", "there is no example in the file")
    return Read(items, format, path, notes.problems, notes.dropped)


def is_json(path: str | Path, lines: Sequence[str]) -> bool:
    """Whether the file is jsonl, by its name, or by a first line that is a JSON object."""
    if Path(path).suffix.lower() in (".jsonl", ".ndjson"):
        return True
    first = next((line for line in lines if line), "")
    if not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _positions(path: str | Path, number: int, line: str, orders: Mapping[int, Sequence[str]]) -> dict[str, int]:
    width = line.count("\t") + 1
    if width not in orders:
        known = " or ".join(f"{count} ({', '.join(fields)})" for count, fields in sorted(orders.items()))
        raise DataError(
            f"{path}, line {number}: expected a header that names the columns, or {known} columns without a header, "
            f"but got {width}: {shown(line)}"
        )
    return {field: column for column, field in enumerate(orders[width])}


def _require(path: str | Path, number: int, fields: Mapping[str, object], required: Sequence[str]) -> None:
    for field in required:
        if field not in fields:
            names = ", ".join(FIELD_NAMES[field])
            raise DataError(
                f"{path}, line {number}: expected a column with one of the names {names}, but there is none"
            )


def _json_records(lines: Sequence[str], notes: Notes, required: Sequence[str]) -> list[Record]:
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            notes.drop("empty_line")
            continue
        fields = _json_fields(line)
        if fields is None:
            notes.error(number, "json", f"expected a JSON object on one line, but got {shown(line)}")
            notes.drop("bad_row")
        elif missing := [field for field in required if field not in fields]:
            names = ", ".join(FIELD_NAMES[missing[0]])
            notes.error(number, "columns", f"expected a key with one of the names {names}, but there is none")
            notes.drop("bad_row")
        else:
            records.append(Record(number, len(records), fields))
    return records


def _json_fields(line: str) -> dict[str, str] | None:
    """The known fields of a JSON object that are text or whole numbers; None where the line is no object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    fields: dict[str, str] = {}
    for name, value in row.items():
        field = _OWNER.get(name.lower())
        if field is not None and isinstance(value, str | int) and not isinstance(value, bool):
            fields.setdefault(field, str(value))
    return fields
