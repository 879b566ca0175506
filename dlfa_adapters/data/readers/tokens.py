"""Sentences of words with tags as JSON or Parquet has them: `{"tokens": ["Anna"], "ner_tags": ["B-PER"]}`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence
from dlfa_adapters.data.readers.containers import is_parquet, json_rows, parquet_rows
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import finish_tagging
from dlfa_adapters.data.readers.values import TAGS, WORDS, BadValue, as_tags, as_words, tags_keys, words_key


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
        scheme: Scheme of entity tags; default: found from the tags.
        labels: Labels of the task, where it is known.
        strict: Whether the first bad row raises.

    Returns:
        The sentences, tags in IOB2; `tags` is None where a row has none.

    Raises:
        DataError: The file cannot be read, or (when strict) a row lacks words, or has not a tag a word.
    """
    notes = Notes(path, strict)
    rows = list(parquet_rows(path) if is_parquet(path) else json_rows(read_lines(path, notes), notes))
    keys = list(dict.fromkeys(key for _, row in rows for key in tags_keys(row)))
    key = tag_column.lower() if tag_column else _best(keys, [row for _, row in rows], labels)
    items: list[Sentence] = []
    for line, row in rows:
        name = words_key(row)
        if name is None:
            notes.error(line, "columns", f"expected a key {' or '.join(WORDS)} with a list of words, but there is none")
            notes.drop("bad_row")
            continue
        if key and key not in row and (tag_column or tags_keys(row)):
            notes.error(line, "columns", f"expected the key {key} with a list of tags, but there is none")
            notes.drop("bad_row")
            continue
        try:
            words = as_words(row[name])
            tags = None if row.get(key) is None else as_tags(row[key], words)
        except BadValue as error:
            notes.error(line, "value", str(error))
            notes.drop("bad_row")
            continue
        own = row.get("id") if isinstance(row.get("id"), str | int) else None
        language = row.get("language") if isinstance(row.get("language"), str) else None
        id_ = str(len(items)) if own is None else str(own)
        items.append(Sentence(words, tags, id_, [line] * len(words), language, own_id=own is not None))
    named = next((words_key(row) for _, row in rows if words_key(row)), WORDS[0])
    layout = f"JSON or Parquet: word ({named})" + (f", tag ({key})" if key else "")
    return finish_tagging(Read(items, "tokens", path, notes.problems, notes.dropped, layout=layout), scheme)


def _best(keys: Sequence[str], rows: Sequence[dict[str, object]], labels: Sequence[str]) -> str:
    """The key whose values are the task's labels, else the first in the order of `TAGS`."""
    ordered = [key for key in TAGS if key in keys]
    known = set(labels) - {"O"}
    for key in ordered:
        counts = Counter(str(tag) for row in rows for tag in row.get(key) or () if tag != "O")  # type: ignore[attr-defined]
        if known and 2 * sum(n for tag, n in counts.items() if tag in known) > sum(counts.values()):
            return key
    return ordered[0] if ordered else ""
