"""Tagged sentences in JSON or Parquet: words with tags, or texts with spans of characters, which become words.

Words with tags: `{"tokens": ["Anna"], "ner_tags": ["B-PER"]}`. Spans as annotation tools export them, Doccano:
`{"text": "Anna met Bob.", "label": [[0, 4, "PER"], [9, 12, "PER"]]}`, also under `labels`, `entities` or `spans`, or
with objects of `start`, `end`, `label`; Label Studio: `data` and `annotations`, or its short form. Words of a text are
those of `split_words`; a word is cut where a span begins or ends inside it, and such cuts are counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.containers import RowOfLine, is_parquet, json_rows, parquet_rows
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import finish_tagging
from dlfa_adapters.data.readers.values import (
    FIELD_NAMES,
    SPANS,
    TAGS,
    WORDS,
    BadValue,
    as_tags,
    as_words,
    tags_keys,
    words_key,
)
from dlfa_adapters.data.words import split_words, word_offsets

CharacterSpan = tuple[int, int, str]


def has_spans(row: Mapping[str, Any]) -> bool:
    """Whether a row has a text and a list of spans, which may be empty."""
    return _text_of(row) is not None and _spans_of(row) is not None


def read_spans(path: str | Path, *, strict: bool = True) -> Read[Sentence]:
    """Read texts with spans of characters.

    Args:
        path: A file of JSON (an object a line, or an array) or Parquet.
        strict: Whether the first bad row raises.

    Returns:
        A sentence a text, tags in IOB2.

    Raises:
        DataError: The file cannot be read, or (when strict) a row has no text, or a span lies outside it, is empty,
            overlaps another or has not one label.
    """
    notes = Notes(path, strict)
    items: list[Sentence] = []
    for line, row in _rows(path, notes):
        text, spans = _text_of(row), _spans_of(row)
        try:
            if text is None or spans is None:
                raise BadValue("expected a text and a list of spans under label, labels, entities or spans")
            words, tags, cut = to_words(text, [_span(each, text) for each in spans], _language_of(row))
        except BadValue as error:
            notes.bad_row(line, "value", str(error))
            continue
        for word in cut:
            notes.collect("cut_word", line, word)
        items.append(_sentence(row, line, len(items), words, tags))
    notes.warn_collected("cut_word", "words that are cut where a span begins or ends inside them")
    layout = "texts with spans of characters"
    return finish_tagging(Read(items, "spans", path, notes.problems, notes.dropped, "IOB2", layout=layout), "IOB2")


def to_words(
    text: str, spans: Sequence[CharacterSpan], language: str | None = None
) -> tuple[list[str], list[str], list[str]]:
    """Words and tags of a text with spans, each with start, end and label, in characters.

    Returns:
        The words, their tags in IOB2, and those words that were cut, as they had been.

    Raises:
        BadValue: Two spans overlap.
    """
    ordered = sorted(spans)
    for (_, end, label), (start, _, other) in pairwise(ordered):
        if start < end:
            raise BadValue(f"expected spans one after the other, but {label} and {other} overlap at character {start}")
    edges = sorted({place for start, end, _ in ordered for place in (start, end)})
    uncut = split_words(text, language)
    words, tags, cut = [], [], []
    for word, (start, end) in zip(uncut, word_offsets(text, uncut), strict=True):
        inside = [place for place in edges if start < place < end]
        cut += [word] if inside else []
        for first, last in zip([start, *inside], [*inside, end], strict=True):
            span = next((each for each in ordered if each[0] <= first < each[1]), None)
            words.append(text[first:last])
            tags.append("O" if span is None else f"{'B' if first == span[0] else 'I'}-{span[2]}")
    return words, tags, cut


def _text_of(row: Mapping[str, Any]) -> str | None:
    return next((row[name] for name in FIELD_NAMES["text"] if isinstance(row.get(name), str)), None)


def _spans_of(row: Mapping[str, Any]) -> list[Any] | None:
    """The list under the first key that holds nothing but what may be spans."""
    for key in SPANS:
        value = row.get(key)
        if isinstance(value, list) and all(isinstance(each, list | tuple | dict) for each in value):
            return value
    return None


def _span(value: Any, text: str) -> CharacterSpan:
    """A span without blanks at its edges, checked against the text."""
    if isinstance(value, dict):
        start = value.get("start", value.get("start_offset"))
        end = value.get("end", value.get("end_offset"))
        label = value.get("label", value.get("labels", value.get("type", value.get("tag"))))
    else:
        start, end, label = value if len(value) == 3 else (None, None, None)
    label = label[0] if isinstance(label, list | tuple) and len(label) == 1 else label
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(label, str) and label.strip()):
        raise BadValue(f"expected a span of start, end and one label, but got {value!r:.80}")
    start, end = _in_characters(value, text, start, end)
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        raise BadValue(f"expected a span inside the text of {len(text)} characters, but got {value!r:.80}")
    inner = text[start:end]
    return start + len(inner) - len(inner.lstrip()), end - len(inner) + len(inner.rstrip()), label.strip()


def _in_characters(value: Any, text: str, start: int, end: int) -> tuple[int, int]:
    """Places in characters, also where a tool counts in UTF-16 as browsers do; its own copy of the text tells."""
    copy = value.get("text") if isinstance(value, dict) else None
    if not isinstance(copy, str) or text[start:end] == copy:
        return start, end
    data = text.encode("utf-16-le", "surrogatepass")
    if data[2 * start : 2 * end] == copy.encode("utf-16-le", "surrogatepass"):
        return tuple(len(data[: 2 * place].decode("utf-16-le", "surrogatepass")) for place in (start, end))  # type: ignore[return-value]
    raise BadValue(f"expected the span {start} to {end} to be {shown(copy)}, but there is {shown(text[start:end])}")


def read_tokens(
    path: str | Path,
    *,
    tag_column: str | None = None,
    scheme: str | None = None,
    labels: Sequence[str] = (),
    strict: bool = True,
) -> Read[Sentence]:
    """Read words and tags from JSON (an object a line, or an array) or Parquet.

    Args:
        path: The file.
        tag_column: The key of the tags; default: the one that holds the task's labels, else the first of `tags`,
            `ner_tags`, `labels`, `pos_tags`, `upos`... Numbers are tags only where the file has their names (Parquet).
        scheme: Scheme of entity tags; default: detected from the tags.
        labels: Labels of the task, where it is known.
        strict: Whether the first bad row raises.

    Returns:
        The sentences, tags in IOB2; `tags` is None where a row has none.

    Raises:
        DataError: The file cannot be read, or (when strict) a row lacks words, or has not a tag a word.
    """
    notes = Notes(path, strict)
    rows = list(_rows(path, notes))
    keys = list(dict.fromkeys(key for _, row in rows for key in tags_keys(row)))
    key = tag_column.lower() if tag_column else _best(keys, [row for _, row in rows], labels)
    items: list[Sentence] = []
    for line, row in rows:
        name = words_key(row)
        if name is None:
            notes.bad_row(
                line, "columns", f"expected a key {' or '.join(WORDS)} with a list of words, but there is none"
            )
            continue
        if key and key not in row and (tag_column or tags_keys(row)):
            notes.bad_row(line, "columns", f"expected the key {key} with a list of tags, but there is none")
            continue
        try:
            words = as_words(row[name])
            tags = None if row.get(key) is None else as_tags(row[key], words)
        except BadValue as error:
            notes.bad_row(line, "value", str(error))
            continue
        items.append(_sentence(row, line, len(items), words, tags))
    named = next((words_key(row) for _, row in rows if words_key(row)), WORDS[0])
    layout = f"JSON or Parquet: word ({named})" + (f", tag ({key})" if key else "")
    return finish_tagging(Read(items, "tokens", path, notes.problems, notes.dropped, layout=layout), scheme)


def _rows(path: str | Path, notes: Notes) -> Iterator[RowOfLine]:
    return parquet_rows(path) if is_parquet(path) else json_rows(read_lines(path, notes), notes)


def _language_of(row: Mapping[str, Any]) -> str | None:
    return row["language"] if isinstance(row.get("language"), str) else None


def _sentence(row: Mapping[str, Any], line: int, number: int, words: list[str], tags: list[str] | None) -> Sentence:
    """The sentence of a row, under its own id or its number."""
    own = row.get("id") if isinstance(row.get("id"), str | int) else None
    id_ = str(number) if own is None else str(own)
    return Sentence(words, tags, id_, [line] * len(words), _language_of(row), own_id=own is not None)


def _best(keys: Sequence[str], rows: Sequence[dict[str, object]], labels: Sequence[str]) -> str:
    """The key whose values are the task's labels, else the first in the order of `TAGS`."""
    ordered = [key for key in TAGS if key in keys]
    known = set(labels) - {"O"}
    for key in ordered:
        counts = Counter(str(tag) for row in rows for tag in row.get(key) or () if tag != "O")  # type: ignore[attr-defined]
        if known and 2 * sum(n for tag, n in counts.items() if tag in known) > sum(counts.values()):
            return key
    return ordered[0] if ordered else ""
