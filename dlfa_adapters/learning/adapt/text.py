"""The text of data in any form, by language and without labels: words of sentences, texts, pairs of texts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.data.assemble import Taken
from dlfa_adapters.data.hub import load_hub
from dlfa_adapters.data.languages import as_spelled
from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE, find_files, language_of
from dlfa_adapters.data.places import AS_FOUND, SAMPLES, Reading, each_place, sample_files
from dlfa_adapters.data.readers import Notes, Read, Sentence, read_file
from dlfa_adapters.data.readers.labelled_text import TEXT_END
from dlfa_adapters.data.sources import check_name
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.dataset import Sources
from dlfa_adapters.tasks import Task, get_task

Text = str | tuple[str, str]
"""A text, or a pair of texts; the words of a sentence have a blank between them."""


@dataclass
class UnlabelledText:
    """Text in one or more languages.

    Attributes:
        texts: By language, in the order of the data.
        words: Languages whose texts are sentences of words.
        taken: What the files were taken for, a line each.
        dropped: What was left out, by reason.
    """

    texts: dict[str, list[Text]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    taken: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, items: Iterable[Any], language: str, split_pairs: bool) -> None:
        """Take the text of some items, and nothing else of them."""
        for item in items:
            texts = self.texts.setdefault(item.language or language, [])
            if isinstance(item, Sentence):
                self.words.add(item.language or language)
                found: Sequence[Text] = [" ".join(word for word in item.words if word.strip())]
            elif item.flaw is not None:
                self.dropped[item.flaw] += 1
                continue
            elif item.text_pair is None:
                found = [item.text]
            else:
                found = [item.text, item.text_pair] if split_pairs else [(item.text, item.text_pair)]
            kept = [text for text in found if all(part.strip() for part in ([text] if isinstance(text, str) else text))]
            self.dropped["blank"] += len(found) - len(kept)
            texts += kept


def read_unlabelled(
    source: Sources,
    task: str | None = None,
    split: str = "train",
    languages: Sequence[str] | None = None,
    reading: Reading = AS_FOUND,
    *,
    split_pairs: bool = False,
) -> UnlabelledText:
    """The text of some data. Labels decide nothing: with others, or without any, the same comes out.

    Args:
        source: A file, a folder in a layout of `data/layout.py`, `hub:NAME`, `samples:NAME`, or by language a file.
        task: Name of the task that the data are of, if they are; it says where in XTREME's download they are.
        split: `train`, `dev` or `test`, of sources that have some.
        languages: Languages wanted, in this order; default: all there are.
        reading: How files are read.
        split_pairs: Whether the two texts of a pair become two texts.

    Raises:
        DataError: If the data cannot be read, or have nothing in one of the languages.
    """
    known, text = None if task is None else get_task(task), UnlabelledText()
    parts: list[tuple[Any, list[str] | None]]
    if isinstance(source, Mapping):
        parts = [(place, [code]) for code, place in source.items()]
    else:
        parts = [(place, None if languages is None else list(languages)) for place in each_place(source)]
    taken = Taken()
    for place, wanted in parts:
        for language, items in _items(place, known, split, wanted, reading, text, taken):
            text.add(items, language, split_pairs)
    text.taken, text.dropped = taken.lines(), +text.dropped
    return _chosen(text, languages, source)


def _items(
    place: Any,
    task: Task | None,
    split: str,
    languages: list[str] | None,
    reading: Reading,
    text: UnlabelledText,
    taken: Taken,
) -> Iterator[tuple[str, list[Any]]]:
    """The items of a place, by the language of those that tell none."""
    kind, _, name = str(place).partition(":")
    if kind == "samples":
        for language, path in sample_files(name, split).items():
            if languages is None or language in languages:
                yield language, read_file(path, SAMPLES[name]).items
    elif kind == "hub":
        notes = Notes(place)
        yield from load_hub(name, split, languages, notes).items()
        text.dropped.update(notes.dropped)
    elif Path(place).is_dir():
        for file in find_files(Path(place), task.name if task else None, split, languages):
            yield file.language, _read(file.path, task, reading, text, taken)
    else:
        items = _read(Path(place), task, reading, text, taken)
        if languages:
            check_name(Path(place), languages, items)
        yield languages[0] if languages and len(languages) == 1 else language_of(Path(place)), items


def _read(path: Path, task: Task | None, reading: Reading, text: UnlabelledText, taken: Taken) -> list[Any]:
    """The items of a file; what is wrong with labels alone is passed over, and files of labels alone are not opened.

    Raises:
        DataError: If something else is wrong.
    """
    options = reading.of(path)
    if options["format"] is None and path.name.endswith(TEXT_END):
        options["format"] = "text"
    pairs = task is not None and not kind_of_task(task).of_words
    read: Read[Any] = read_file(path, task=task if pairs else None, strict=False, **options)
    wrong = next((each for each in read.problems if each.level == "error" and each.kind != "label"), None)
    if wrong is not None:
        where = f", line {wrong.line}" if wrong.line else ""
        raise DataError(f"{path}{where}: {wrong.message}")
    text.dropped.update(read.dropped)
    taken.add(read)
    return read.items


def _chosen(text: UnlabelledText, languages: Sequence[str] | None, source: Sources) -> UnlabelledText:
    """The languages that were asked for, in their order."""
    there = {language: texts for language, texts in text.texts.items() if texts}
    named = ", ".join(map(str, each_place(source)))
    if not there:
        raise DataError(f"{named}: expected text to learn from; there is none")
    if languages is None:
        text.texts = there
        return text
    if missing := [language for language in languages if language not in there]:
        others = ", ".join(language for language in there if language != UNKNOWN_LANGUAGE) or "no language that is told"
        others += as_spelled(missing, there)
        raise DataError(f"{named}: expected text in {', '.join(missing)}, but there is text in {others}")
    if more := sum(len(texts) for language, texts in there.items() if language not in languages):
        text.dropped["other_language"] += more
    text.texts = {language: there[language] for language in languages}
    return text
