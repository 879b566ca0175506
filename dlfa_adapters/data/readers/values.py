"""Values of a row with names, from JSON, Parquet or Python: which key is what, and what a label may be."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dlfa_adapters.tasks.span_tags import bare

_NAMES = {
    "text": "text sentence premise sentence1 text1 text_a sentence_a review tweet message utterance comment content "
    "document body review_body query question1",
    "text_pair": "text_pair hypothesis hypo sentence2 text2 text_b sentence_b question2",
    "label": "label gold_label category class labels sentiment intent topic target rating stars",
    "title": "review_title",
    "id": "id index_id idx pairid review_id",
    "language": "language lang",
}
FIELD_NAMES: Mapping[str, tuple[str, ...]] = {field: tuple(names.split()) for field, names in _NAMES.items()}
"""Every name that a published file or a common export uses for a field."""

FIELD_OF = {name: field for field, names in FIELD_NAMES.items() for name in names}
WORDS = ("words", "tokens")
TAGS = ("tags", "ner_tags", "labels", "label", "pos_tags", "upos", "ner", "pos", "chunk_tags")
SPANS = ("label", "labels", "entities", "spans")


class BadValue(ValueError):
    """A value is not what its key should hold; the text says what was expected and what came."""


def lower_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its keys in lower case."""
    return {str(name).lower(): value for name, value in row.items()}


def fields_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row by the names of `FIELD_NAMES`: of each field the first that is there and not None."""
    values: dict[str, Any] = {}
    for name, value in row.items():
        if (field := FIELD_OF.get(name)) is not None and value is not None:
            values.setdefault(field, value)
    return values


def titled(text: Any, title: Any) -> Any:
    """A review behind its title, with an empty line between the two, as MTEB's copy of MARC has them."""
    return f"{title}\n\n{text}" if isinstance(title, str) and title.strip() and isinstance(text, str) else text


def words_key(row: Mapping[str, Any]) -> str | None:
    """The key of a list of words, or None."""
    return next((key for key in WORDS if isinstance(row.get(key), list | tuple)), None)


def tags_keys(row: Mapping[str, Any]) -> list[str]:
    """The keys of lists that may be tags, the likeliest first."""
    return [key for key in TAGS if isinstance(row.get(key), list | tuple)]


def as_words(value: Sequence[Any]) -> list[str]:
    """A list of words.

    Raises:
        BadValue: One of them is no string.
    """
    for word in value:
        if not isinstance(word, str):
            raise BadValue(f"expected every word to be a string, but got {word!r:.60}")
    return list(value)


def as_tags(value: Sequence[Any], words: Sequence[str]) -> list[str]:
    """The tags of some words.

    Raises:
        BadValue: They are not as many, one is no string, or they are numbers whose names are not known.
    """
    if len(value) != len(words):
        raise BadValue(f"expected a tag a word, but there are {len(words)} words and {len(value)} tags")
    for tag in value:
        if isinstance(tag, int) and not isinstance(tag, bool):
            raise BadValue(f"expected tags with names, but got the number {tag}; write e.g. B-PER in its place")
        if not isinstance(tag, str) or not bare(tag):
            raise BadValue(f"expected every tag to be a string, but got {tag!r:.60}")
    return [bare(tag) for tag in value]


def as_head(value: Any, words: int) -> int:
    """The head of a word: another word, counted from 1, or 0; also as digits.

    Raises:
        BadValue: It is something else, or no word of so many.
    """
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
    if (digits or (isinstance(value, int) and not isinstance(value, bool))) and 0 <= int(value) <= words:
        return int(value)
    raise BadValue(f"expected a head in 0..{words}, but got {value!r:.60}")


def as_label(value: Any) -> str | None:
    """The name of a label: text, a number, true or false, or a list of one of them; None where there is none.

    A whole number may come as 1.0, as tables with gaps have it.

    Raises:
        BadValue: It is something else, or several labels.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if float(value).is_integer() else repr(value)
    if isinstance(value, list | tuple):
        if len(value) > 1 and not any(isinstance(each, list | tuple | dict) for each in value):
            raise BadValue(f"expected one label, but got {len(value)}: {list(value)!r:.60}")
        if len(value) < 2:
            return as_label(value[0]) if value else None
    raise BadValue(f"expected a label, but got {value!r:.60}")


def as_text(value: Any) -> str:
    """A text, or a number that stands for one.

    Raises:
        BadValue: It is something else.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadValue(f"expected a text, but got {value!r:.60}")
