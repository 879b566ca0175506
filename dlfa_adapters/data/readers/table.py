"""Rows with named fields, from tsv or CSV with or without a header, JSON and Parquet: the ground of all classification.

In tsv a row is a line and a field ends at a TAB. Quotes are characters like any other, so no quote can swallow a line.
One thing is undone, and noted: XTREME's scripts write sentence pairs with Python's `csv.writer`, which turns `A "b" c`
into `"A ""b"" c"`. In a CSV file quotes are quotes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.readers.base import Example, Notes, Read, shown
from dlfa_adapters.data.readers.containers import (
    RowOfLine,
    csv_cells,
    is_csv,
    is_json,
    is_parquet,
    json_rows,
    parquet_rows,
)
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.values import FIELD_NAMES, FIELD_OF, BadValue, as_label, as_text, fields_of, titled
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks.span_tags import bare

_CSV_QUOTED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')


@dataclass(slots=True)
class Record:
    """One row: its line, its number (from 0) and its fields by the names of `FIELD_NAMES`."""

    line: int
    number: int
    fields: dict[str, str]


def header_fields(cells: Sequence[str]) -> dict[str, int] | None:
    """Column of each field, if the cells of a row are a header; None if they are data.

    A header names a text and at least one more field, so a first row of data is never taken for one.
    """
    columns: dict[str, int] = {}
    for column, cell in enumerate(cells):
        if (field := FIELD_OF.get(cell.strip().lower())) is not None:
            columns.setdefault(field, column)
    return columns if "text" in columns and len(columns) > 1 else None


Orders = Mapping[int, Sequence[str]] | Callable[[Sequence[Sequence[str]]], Mapping[int, Sequence[str]]]
"""Number of columns of a file without a header -> the field of each column; or what tells that from the rows."""


def read_records(notes: Notes, orders: Orders, required: Sequence[str]) -> list[Record]:
    """All rows of a tsv, CSV, JSON or Parquet file, of which every one must have the `required` fields.

    Returns:
        The rows, in order; empty lines are left out and counted.

    Raises:
        DataError: The file cannot be read, lacks a column, or (when strict) has a bad row.
    """
    path = notes.path
    if is_parquet(path):
        return _named(parquet_rows(path), notes, required)
    lines = read_lines(path, notes)
    if is_json(path, lines):
        return _named(json_rows(lines, notes), notes, required)
    if is_csv(path, lines):
        return _placed(list(csv_cells(path, notes)), notes, orders, required, "commas or semicolons")
    return _placed(list(_tab_cells(lines, notes)), notes, orders, required, "TABs")


def _tab_cells(lines: Sequence[str], notes: Notes) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        if line:
            yield number, line.split("\t")
        else:
            notes.drop("empty_line")


def _placed(
    rows: Sequence[tuple[int, list[str]]], notes: Notes, orders: Orders, required: Sequence[str], between: str
) -> list[Record]:
    """Records from rows of cells, whose header or number says what is where."""
    if not rows:
        return []
    first, cells = rows[0]
    columns, width = header_fields(cells), len(cells)
    header = columns and cells
    if columns is None:
        known = orders([row for _, row in rows]) if callable(orders) else orders
        columns = _positions(notes.path, first, cells, known)
    if missing := next((field for field in required if field not in columns), None):
        names = ", ".join(FIELD_NAMES[missing])
        raise DataError(
            f"{notes.path}, line {first}: expected a column with one of the names {names}, but there is none"
        )
    records: list[Record] = []
    for number, cells in rows:
        if cells == header:
            if number > first:
                notes.drop("header_row")  # where files were joined
        elif len(cells) != width:
            got = shown("\t".join(cells))
            notes.bad_row(
                number, "columns", f"expected {width} columns with {between} between them, but got {len(cells)}: {got}"
            )
        else:
            records.append(Record(number, len(records), {field: cells[at] for field, at in columns.items()}))
    return records


def _named(rows: Iterable[RowOfLine], notes: Notes, required: Sequence[str]) -> list[Record]:
    """Records from rows of named values."""
    records: list[Record] = []
    for number, row in rows:
        values = fields_of(row)
        has_label = any(FIELD_OF.get(name) == "label" for name in row)  # the key, though it may hold none
        missing = [field for field in required if field not in values and not (field == "label" and has_label)]
        if missing:
            names = ", ".join(FIELD_NAMES[missing[0]])
            notes.bad_row(number, "columns", f"expected a key with one of the names {names}, but there is none")
            continue
        try:
            label = as_label(values.pop("label", None))
            fields = {name: as_text(value) for name, value in values.items()}
        except BadValue as error:
            notes.bad_row(number, "value", str(error))
        else:
            records.append(Record(number, len(records), fields if label is None else {**fields, "label": label}))
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
            text=titled(row.fields.get("text", ""), row.fields.get("title")),
            text_pair=row.fields.get("text_pair"),
            label=row.fields.get("label"),
            id=row.fields.get("id", str(row.number)),
            line=row.line,
            language=row.fields.get("language"),
            own_id="id" in row.fields,
        )
        for row in records
    ]


def finish_table(items: list[Example], format: str, notes: Notes) -> Read[Example]:
    """The result of a classification reader, with a warning where no item is left."""
    for item in items:
        if item.label is not None and item.label != bare(item.label):
            notes.collect("blank_beside_label", item.line, item.label)
            item.label = bare(item.label)
        if item.label == "":
            notes.error(item.line, "label", "expected a label, but it is empty")
    notes.warn_collected("blank_beside_label", "labels with blanks beside them, which are left out")
    counts = Counter(item.label for item in items if item.label is not None)
    first = items[0].label if items else None
    if first is not None and len(counts) > 2 and counts.pop(first) == 1 and min(counts.values()) > 1:
        label = shown(first)
        message = f"the label {label} stands in the first row alone; if that row names the columns, delete it"
        notes.warn(items[0].line, "header", message)
    if not items and not any(problem.kind == "empty" for problem in notes.problems):
        notes.warn(None, "empty", "there is no example in the file")
    return Read(items, format, notes.path, notes.problems, notes.dropped)


def _positions(
    path: str | Path, number: int, cells: Sequence[str], orders: Mapping[int, Sequence[str]]
) -> dict[str, int]:
    width = len(cells)
    if width not in orders:
        known = " or ".join(f"{count} ({', '.join(fields)})" for count, fields in sorted(orders.items()))
        raise DataError(
            f"{path}, line {number}: expected a header that names the columns, or {known} columns without a header, "
            f"but got {width}: {shown(chr(9).join(cells))}"
        )
    return {field: column for column, field in enumerate(orders[width])}
