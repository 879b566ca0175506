"""Python lists as data: pairs of words and tags, texts and labels, or dictionaries with the library's column names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dlfa_adapters.data.readers.base import Example, Notes, Sentence
from dlfa_adapters.data.readers.conllu import Tree
from dlfa_adapters.data.readers.containers import name_classes
from dlfa_adapters.data.readers.labelled_text import flaw_of
from dlfa_adapters.data.readers.values import (
    BadValue,
    as_head,
    as_label,
    as_tags,
    as_words,
    fields_of,
    lower_keys,
    tags_keys,
    titled,
    words_key,
)
from dlfa_adapters.data.trees import wrong_in_tree
from dlfa_adapters.ground.errors import DataError

_FORMS = (
    "(words, tags), (text, label), (text, text_pair, label), or a dictionary with words and tags, words, heads and "
    "deprels, or text and label"
)


def items_from(source: Iterable[Any], language: str, notes: Notes, labels: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Sentences or examples from Python values, by language.

    Args:
        source: The values; a `datasets.Dataset` is an iterable of dictionaries, its class ids stand for their names.
        language: Language of values that do not tell theirs.
        notes: For the name in error texts.
        labels: Labels of the task, where it is known: of several lists of tags the one that holds these is taken.

    Returns:
        Language -> items.

    Raises:
        DataError: A value has none of the forms, words and tags differ in number, or forms are mixed.
    """
    out: dict[str, list[Any]] = {}
    kinds = set()
    features = getattr(source, "features", None)  # of a datasets.Dataset
    tags = ""
    for index, value in enumerate(source):
        if isinstance(value, Mapping):
            value = lower_keys(name_classes(value, features) if features else value)
            tags = tags or _tags_key(value, labels)
        item = _item(value, index, notes, tags)
        kinds.add(type(item))
        if len(kinds) > 1:
            raise DataError(f"{notes.path}: expected all items of one kind, but item {index} is of another")
        out.setdefault(item.language or language, []).append(item)
    return out


def _tags_key(row: Mapping[str, Any], labels: Sequence[str]) -> str:
    """The key of the tags in all rows, by the first one."""
    keys = tags_keys(row)
    return next((key for key in keys if labels and set(map(str, row[key])) <= set(labels)), keys[0] if keys else "")


def _item(value: Any, index: int, notes: Notes, tags: str) -> Sentence | Example:
    if isinstance(value, Mapping):
        return _from_mapping(value, index, notes, tags)
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = list(value)
        if len(parts) == 2 and _is_words(parts[0]) and _is_words(parts[1]):
            return replace(_sentence(parts[0], parts[1], f"{notes.path}: item {index}"), id=str(index))
        if len(parts) in (2, 3) and all(isinstance(part, str) for part in parts):
            return Example(parts[0], parts[1] if len(parts) == 3 else None, parts[-1], str(index))
    raise DataError(f"{notes.path}: expected item {index} to be {_FORMS}, but got {value!r:.80}")


def _from_mapping(row: Mapping[str, Any], index: int, notes: Notes, tags: str) -> Sentence | Example:
    values, place = fields_of(row), f"{notes.path}: item {index}"
    own: dict[str, Any] = {"id": str(values.get("id", index)), "own_id": "id" in values}
    own["language"] = values.get("language")
    named = words_key(row)
    if named is not None and ("heads" in row or "head" in row):
        return replace(_tree(row[named], row, row.get(tags), place), **own)
    if named is not None and isinstance(row.get(tags), list | tuple):
        return replace(_sentence(row[named], row[tags], place), **own)
    text, second = titled(values.get("text"), values.get("title")), values.get("text_pair")
    try:
        label = as_label(values.get("label"))
    except BadValue as error:
        raise DataError(f"{place}: {error}") from error
    if named is None and isinstance(text, str) and label is not None and (second is None or isinstance(second, str)):
        flaw = flaw_of(text, second) if second is not None and row.get("placeholder") else None
        return Example(text, second, label, flaw=flaw, **own)
    raise DataError(f"{notes.path}: expected item {index} to be {_FORMS}, but got the keys {list(row)}")


def _sentence(words: Sequence[Any], tags: Sequence[Any], place: str) -> Sentence:
    """A sentence without an id."""
    try:
        known = as_words(words)
        return Sentence(known, as_tags(tags, known), "")
    except BadValue as error:
        raise DataError(f"{place}: {error}") from error


def _tree(words: Sequence[Any], row: Mapping[str, Any], tags: Any, place: str) -> Tree:
    """A tree without an id, from a head, a relation and perhaps a tag for each word; heads are numbers, or digits."""
    heads, deprels = row.get("heads", row.get("head")), row.get("deprels", row.get("deprel"))
    for what, values in (("head", heads), ("relation", deprels)):
        if not isinstance(values, list | tuple) or len(values) != len(words):
            raise DataError(f"{place}: expected a {what} for each of {len(words)} words, but got {values!r:.60}")
    try:
        known, relations = as_words(words), as_words(deprels)
        numbers = [as_head(head, len(known)) for head in heads]
        upos = as_tags(row["upos"], known) if "upos" in row else ["_"] * len(known)
        others = upos if tags is None else as_tags(tags, known)
    except BadValue as error:
        raise DataError(f"{place}: {error}") from error
    nodes = [
        [str(i), word, "_", tag, "_", "_", str(head), deprel, "_", "_"]
        for i, (word, tag, head, deprel) in enumerate(zip(known, upos, numbers, relations, strict=True), 1)
    ]
    wrong = wrong_in_tree(numbers)
    return Tree(known, others, "", rows=nodes, nodes=nodes, wrong=f"{place}: {wrong[1]}" if wrong else "")


def _is_words(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(part, str) for part in value)
