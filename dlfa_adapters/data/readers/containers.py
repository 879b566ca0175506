"""Rows with named values out of JSON, CSV and Parquet; what they mean is for the readers.

JSON: an object a line, an array of objects, or objects one after the other. Parquet through `datasets`, with the names
of its class labels. CSV by Python's `csv`: quotes, and line ends inside quoted fields.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.base import Notes, shown
from dlfa_adapters.data.readers.lines import PARQUET, bare_name, decode_text, read_bytes
from dlfa_adapters.data.readers.rows import find_shape
from dlfa_adapters.data.readers.values import lower_keys
from dlfa_adapters.ground.errors import DataError

_SAMPLE = 2000
_BRACKET = re.compile(r"\{|\[\s*(\{|$)")
RowOfLine = tuple[int, dict[str, Any]]
"""A line number from 1, and values by name in lower case."""


def is_parquet(path: str | Path) -> bool:
    """Whether a file is in Parquet, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == PARQUET
    except OSError:
        return False


def is_json(path: str | Path, lines: Sequence[str]) -> bool:
    """Whether a file holds JSON: by a first object, or by its name and a first bracket."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if bare_name(path).suffix in (".json", ".jsonl", ".ndjson") and _BRACKET.match(first):
        return True
    if _as_object(first) is not None:
        return True
    return first.startswith(("{", "[")) and _begins_with_object("\n".join(lines[:_SAMPLE]))


def is_csv(path: str | Path, lines: Sequence[str]) -> bool:
    """Whether a file is a CSV: by its name, unless its columns have TABs between them."""
    separator, width = find_shape(lines)
    return bare_name(path).suffix == ".csv" and (separator != "\t" or width == 1)


def json_rows(lines: Sequence[str], notes: Notes) -> Iterator[RowOfLine]:
    """The objects of a JSON file, with an error for what is none."""
    first = next((line for line in lines if line.strip()), "")
    if _as_object(first) is None and _begins_with_object("\n".join(lines)):
        yield from _stream("\n".join(lines), notes)
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            notes.drop("empty_line")
        elif (row := _as_object(line)) is not None:
            yield number, flattened(row)
        else:
            notes.bad_row(number, "json", f"expected a JSON object on one line, but got {shown(line)}")


def parquet_rows(path: str | Path) -> Iterator[RowOfLine]:
    """The rows of a Parquet file, numbered from 1, with class ids as names.

    Raises:
        DataError: The file is damaged.
    """
    import datasets
    import pyarrow
    from pyarrow import parquet

    try:
        data = datasets.Dataset(parquet.read_table(str(path)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: expected a Parquet file, but it cannot be read: {str(error)[:120]}") from error
    for number, row in enumerate(data, 1):
        yield number, flattened(name_classes(row, data.features))


def name_classes(row: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a data set with the names of its classes in place of their numbers; -1, no label, becomes None."""
    named = dict(row)
    for column, feature in features.items():
        if (names := names_of_classes(feature)) is not None:
            named[column] = class_name(named[column], names)
    return named


def names_of_classes(feature: Any) -> Sequence[str] | None:
    """The names of the classes in a column of a data set, or in lists in it; None where it has none."""
    names: Sequence[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def class_name(value: Any, names: Sequence[str]) -> Any:
    """The name of a class id, or of each of a list of them: None for -1; what is no number stays."""
    if isinstance(value, list):
        return [class_name(each, names) for each in value]
    return value if not isinstance(value, int) else names[value] if value >= 0 else None


def csv_cells(path: str | Path, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, with commas, semicolons or TABs between fields: the line where each begins, its cells.

    Raises:
        DataError: A quote is not closed, or a field is longer than Python's `csv` takes.
    """
    text = decode_text(read_bytes(path), str(path), notes)
    delimiter = max(",;\t", key=lambda char: len(next(csv.reader(io.StringIO(text, newline=""), delimiter=char), [])))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in rows:
            if cells:
                yield line, cells
            else:
                notes.drop("empty_line")
            line = rows.line_num + 1
    except csv.Error as error:
        notes.bad_row(line, "csv", f"expected a row of a CSV file, but {error}")


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with lower-case keys; one of Label Studio's as `text` with `label`, spans or the chosen one."""
    row = lower_keys(row)
    data, annotations = row.get("data"), row.get("annotations", row.get("completions"))
    if not isinstance(data, dict) or not isinstance(annotations, list):
        return row
    texts = [value for name, value in data.items() if isinstance(value, str) and name.lower() in ("text", "sentence")]
    texts = texts or [value for value in data.values() if isinstance(value, str)]
    done = [each for each in annotations if isinstance(each, dict) and not each.get("was_cancelled")]
    if len(texts) != 1 or len(done) > 1:
        return row  # which no reader takes: two texts, or the work of two people
    results = [value for each in done for value in each.get("result") or () if isinstance(value, dict)]
    values = [value["value"] for value in results if isinstance(value.get("value"), dict)]
    chosen = [choice for value in values for choice in value.get("choices") or ()]
    return {"id": row.get("id"), "text": texts[0], "label": chosen or [each for each in values if "start" in each]}


def _as_object(line: str) -> dict[str, Any] | None:
    """The JSON object on a line; None where there is none."""
    try:
        value = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _begins_with_object(text: str) -> bool:
    """Whether a text of JSON begins with an object, or an array of objects, on one line or many."""
    start = text.lstrip()
    if start.startswith("["):
        start = start[1:].lstrip()
    try:
        return isinstance(json.JSONDecoder().raw_decode(start)[0], dict)
    except (ValueError, RecursionError):
        return False


def _stream(text: str, notes: Notes) -> Iterator[RowOfLine]:
    """The objects of an array, or one after the other."""
    if text.lstrip().startswith("["):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            notes.error(error.lineno, "json", f"expected a JSON array, but it is cut short or damaged ({error.msg})")
        except RecursionError:
            notes.error(None, "json", "expected a JSON array of objects, but it is nested too deeply")
    decoder, place, line, counted = json.JSONDecoder(), 0, 1, 0
    while True:
        while place < len(text) and text[place] in " \t\r\n[,]":
            place += 1
        line, counted = line + text.count("\n", counted, place), place
        if place >= len(text):
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value, end = None, len(text)
        if isinstance(value, dict):
            yield line, flattened(value)
        else:
            part = shown(text[place : place + 60])
            notes.bad_row(
                line, "json", f"expected a JSON object, but got {part}" + ("" if end < len(text) else ", to the end")
            )
        place = end
