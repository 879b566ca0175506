"""Data sets of the Hugging Face hub as they are today: parquet or tsv files, no loading scripts (datasets 4 has none).

`hub_sets` has the list. `datasets.load_dataset` downloads; everything else is here.
"""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.hub_sets import HUB, HubSpec
from dlfa_adapters.data.readers.base import Example, Notes, Sentence
from dlfa_adapters.data.readers.containers import class_name, names_of_classes
from dlfa_adapters.data.readers.labelled_text import flaw_of
from dlfa_adapters.ground.environment import cached_datasets_only, hub_answers, no_answer
from dlfa_adapters.ground.errors import DataError

if TYPE_CHECKING:
    import datasets

_SPLITS: Mapping[str, Sequence[str]] = {"train": ("train",), "dev": ("validation", "dev"), "test": ("test",)}


def load_hub(name: str, split: str, languages: Iterable[str] | None, notes: Notes) -> dict[str, list[Any]]:
    """Sentences or examples of a data set of `HUB`, by language as it names them (treebanks of Universal Dependencies).

    Returns:
        Language -> items.

    Raises:
        DataError: The name is unknown, languages are missing, or the hub has no such configuration or split.
    """
    if name not in HUB:
        raise DataError(f"expected a hub data set among {', '.join(HUB)}, but got {name!r}")
    spec = HUB[name]
    if spec.language_column is not None:
        return _split_by_language(name, spec, split, languages, notes)
    wanted = list(languages) if languages is not None else [spec.default_language] if spec.default_language else []
    if not wanted:
        raise DataError(f"hub:{name} has one configuration a language; say which, e.g. languages=['en', 'de']")
    return {language: _items(name, spec, _load(name, spec, split, language), notes) for language in wanted}


def _split_by_language(
    name: str, spec: HubSpec, split: str, languages: Iterable[str] | None, notes: Notes
) -> dict[str, list[Any]]:
    data = _load(name, spec, split, "")
    column = list(data[spec.language_column])
    there = list(dict.fromkeys(column))
    wanted = there if languages is None else list(languages)
    if missing := [language for language in wanted if language not in there]:
        raise DataError(f"hub:{name} has no {', '.join(missing)}; it has {', '.join(there)}")
    rows = {language: [i for i, value in enumerate(column) if value == language] for language in wanted}
    return {language: _items(name, spec, data.select(rows[language]), notes) for language in wanted}


def _load(name: str, spec: HubSpec, split: str, language: str) -> "datasets.Dataset":
    """Download one split, under the first of its possible names that the data set has."""
    import datasets

    code = spec.codes.get(language, language)
    what = " ".join(part for part in (spec.repo, split, language) if part)
    cached_only, errors = not hub_answers(), []
    for hub_split in _SPLITS[split]:
        try:
            if spec.data_files is not None:
                files = spec.data_files.format(language=code, split=hub_split)
                return datasets.load_dataset("parquet", data_files={"data": files}, split="data")
            config = spec.config.format(language=code) if spec.config is not None else None
            with cached_datasets_only(cached_only):
                return datasets.load_dataset(spec.repo, config, split=hub_split)
        except (ValueError, FileNotFoundError, ConnectionError, OSError) as error:
            errors.append(str(error).split("\n")[0])
    hint = f"; {no_answer()}: give a file, a folder or samples:NAME" if cached_only else ""
    raise DataError(f"hub:{name}: {what} cannot be loaded from the hub: {shorten(errors[0], 200)}{hint}")


def _items(name: str, spec: HubSpec, data: "datasets.Dataset", notes: Notes) -> list[Any]:
    missing = [column for key, column in spec.columns.items() if key != "id" and column not in data.column_names]
    if missing:
        have = ", ".join(data.column_names)
        raise DataError(f"hub:{name}: expected the column {missing[0]!r} in {spec.repo}, but it has {have}")
    own = spec.columns.get("id") in data.column_names
    ids = data[spec.columns["id"]] if own else range(len(data))
    if "words" in spec.columns:
        rows = zip(ids, data[spec.columns["words"]], _names(data, spec.columns["tags"]), strict=True)
        items: list[Any] = [_sentence(spec, str(id_), words, tags, notes) for id_, words, tags in rows]
    else:
        items = list(_examples(spec, data, [str(id_) for id_ in ids], notes))
    for item in items:
        item.own_id = own
    return items


def _sentence(spec: HubSpec, id_: str, words: Sequence[str], tags: Sequence[Any], notes: Notes) -> Sentence:
    rows = [row for row in zip(words, tags, strict=True) if not (spec.has_ranges and row[1] in (None, "_"))]
    if len(rows) < len(words):
        notes.drop("multiword_range", len(words) - len(rows))
    if any(tag is None for _, tag in rows):
        raise DataError(f"{spec.repo}: expected a tag for every word, but sentence {id_} has words without one")
    return Sentence([word for word, _ in rows], [str(tag) for _, tag in rows], id_)


def _examples(spec: HubSpec, data: "datasets.Dataset", ids: Sequence[str], notes: Notes) -> Iterable[Example]:
    texts = data[spec.columns["text"]]
    pair_column = spec.columns.get("text_pair")
    seconds = data[pair_column] if pair_column else [None] * len(data)
    for id_, text, second, label in zip(ids, texts, seconds, _names(data, spec.columns["label"]), strict=True):
        if label in (None, "-", ""):
            notes.drop("no_gold_label")
            continue
        flaw = flaw_of(text, second) if spec.has_placeholders else None
        yield Example(text, second, label, id_, flaw=flaw)


def _names(data: "datasets.Dataset", column: str) -> list[Any]:
    """A column with class ids turned into the data set's own names; -1, which stands for no label, into None."""
    names = names_of_classes(data.features[column])
    if names is None:
        return [value if isinstance(value, list) or value is None else str(value) for value in data[column]]
    return [class_name(value, names) for value in data[column]]
