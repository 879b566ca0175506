"""Python lists as data: pairs of words and tags, texts and labels, or dictionaries with the library's column names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlfa_adapters.data.readers.base import Example, Notes, Sentence
from dlfa_adapters.data.readers.pawsx import flaw_of
from dlfa_adapters.errors import DataError

_FORMS = "(words, tags), (text, label), (text, text_pair, label), or a dictionary with words and tags or text and label"


def items_from(source: Iterable[Any], language: str, notes: Notes) -> dict[str, list[Any]]:
    """Sentences or examples from Python values, by language.

    Args:
        source: The values; a `datasets.Dataset` is an iterable of dictionaries.
        language: Language of values that do not tell theirs.
        notes: For the name in error texts.

    Returns:
        Language -> items.

    Raises:
        DataError: A value has none of the forms, words and tags differ in number, or forms are mixed.
    """
    out: dict[str, list[Any]] = {}
    kinds = set()
    for index, value in enumerate(source):
        item = _item(value, index, notes)
        kinds.add(type(item))
        if len(kinds) > 1:
            raise DataError(f"{notes.path}: expected all items of one kind, but item {index} is of another")
        out.setdefault(item.language or language, []).append(item)
    return out


def _item(value: Any, index: int, notes: Notes) -> Sentence | Example:
    if isinstance(value, Mapping):
        return _from_mapping(value, index, notes)
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = list(value)
        if len(parts) == 2 and _is_words(parts[0]) and _is_words(parts[1]):
            return _sentence(parts[0], parts[1], str(index), None, index, notes)
        if len(parts) in (2, 3) and all(isinstance(part, str) for part in parts):
            return Example(parts[0], parts[1] if len(parts) == 3 else None, parts[-1], str(index))
    raise DataError(f"{notes.path}: expected item {index} to be {_FORMS}, but got {value!r:.80}")


def _from_mapping(value: Mapping[str, Any], index: int, notes: Notes) -> Sentence | Example:
    id_, language = str(value.get("id", index)), value.get("language")
    words, tags = value.get("words"), value.get("tags")
    if words is not None and tags is not None and _is_words(words) and _is_words(tags):
        sentence = _sentence(words, tags, id_, language, index, notes)
        sentence.own_id = "id" in value
        return sentence
    text, label, second = value.get("text"), value.get("label"), value.get("text_pair")
    if isinstance(text, str) and isinstance(label, str | int) and (second is None or isinstance(second, str)):
        flaw = flaw_of(text, second) if second is not None and value.get("placeholder") else None
        return Example(text, second, str(label), id_, language=language, flaw=flaw, own_id="id" in value)
    raise DataError(f"{notes.path}: expected item {index} to be {_FORMS}, but got the keys {list(value)}")


def _sentence(
    words: Sequence[str], tags: Sequence[str], id_: str, language: str | None, index: int, notes: Notes
) -> Sentence:
    if len(words) != len(tags):
        raise DataError(
            f"{notes.path}: expected a tag a word, but item {index} has {len(words)} words and {len(tags)} tags"
        )
    return Sentence(list(words), list(tags), id_, language=language)


def _is_words(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(part, str) for part in value)
