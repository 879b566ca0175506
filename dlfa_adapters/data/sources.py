"""One call for data from anywhere: files, folders, the hub, the samples, Python lists. All become the same columns.

```python
load_data("download/", task="ner", split="dev", languages=["de", "sw"])  # XTREME's layout, or any of data/layout.py
load_data("en_ewt-ud-dev.conllu", task="pos")
load_data("hub:panx", task="ner", split="dev", languages=["de"])
load_data("samples:ner", task="ner", split="train")
load_data([(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"])], task="ner", languages=["en"])
```
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import datasets

from dlfa_adapters.data.assemble import Loaded, Taken, assemble
from dlfa_adapters.data.hub import load_hub
from dlfa_adapters.data.iterables import items_from
from dlfa_adapters.data.languages import as_spelled
from dlfa_adapters.data.layout import (
    UNKNOWN_LANGUAGE,
    check_language,
    check_language_of_name,
    find_files,
    language_and_split,
    other_files,
)
from dlfa_adapters.data.places import SAMPLES, Reading, check_samples, check_source, sample_files
from dlfa_adapters.data.readers import Notes, Problem, Read, Sentence, read_file
from dlfa_adapters.data.readers.oddities import name_odd_labels
from dlfa_adapters.data.readers.rows import finish_tagging
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import Task, get_task

logger = logging.getLogger(__name__)

_MOST_FILES = 20


def load_data(
    source: str | Path | Iterable[Any],
    task: str | Task | None = None,
    split: str = "test",
    languages: Iterable[str] | None = None,
    format: str | None = None,
    **options: Any,
) -> datasets.Dataset:
    """Data from any source; see `load_source` for the arguments and for the account of what was left out.

    Returns:
        The dataset. `dataset.info.description` holds the account as JSON (source, dropped, unknown labels).

    Raises:
        ConfigError: There is no such format.
        DataError: The data cannot be read, or there is nothing in it.
    """
    return load_source(source, task, split, languages, format, **options).dataset


def load_source(
    source: str | Path | Iterable[Any],
    task: str | Task | None = None,
    split: str = "test",
    languages: Iterable[str] | None = None,
    format: str | None = None,
    warn_unknown: bool = True,
    **options: Any,
) -> Loaded:
    """Data from any source, with an account of it.

    Args:
        source: A file; a folder in a layout of `data/layout.py`; `hub:NAME` (`data/hub_sets.py` has the list);
            `samples:ner`, `samples:pos`, `samples:nli`, `samples:pawsx`; or an iterable of `(words, tags)`,
            `(text, label)`, `(text, text_pair, label)` or of dictionaries with our column names.
        task: A task or its name. It tells tagging from classification where the source does not, names the folder in
            XTREME's layout, and its labels are compared with those in the data.
        split: `train`, `dev` or `test`. For a single file: what it is used for. Placeholder pairs are left out of
            `train` and included otherwise, so that a test has its official size.
        languages: Languages wanted, in this order; default: all there are. For a single file or an iterable: its one
            language.
        format: A name of `readers.READERS`, for files; default: detected from content and name.
        warn_unknown: Whether labels that the task does not know are among the warnings; they are in the account anyway.
        options: Further arguments of the reader: `word_column`, `tag_column` (from 0, or a name in the header row).

    Returns:
        The data; its warnings and what was taken for what also go to the log.

    Raises:
        ConfigError: There is no such format, or it has no such option; or a language that data are said to be in is
            none.
        DataError: The data cannot be read, has no labels, or there is nothing in it.
    """
    check_source(source, split, format)
    known = get_task(task) if isinstance(task, str) else task
    if isinstance(languages, str):
        languages = [languages]
    wanted = None if languages is None else list(dict.fromkeys(languages))
    notes = Notes(source if isinstance(source, str | Path) else "the given items", strict=True)
    taken = Taken()
    Reading.taken_from({"format": format, **options}).check([source])
    if not isinstance(source, str | Path):
        by_language = items_from(source, _one_language(wanted), notes, known.labels if known else ())
        check_name(None, wanted or [], list(chain.from_iterable(by_language.values())))
        by_language = _in_iob2(_wanted(by_language, wanted, notes), known, notes)
    elif str(source).startswith("hub:"):
        by_language = _in_iob2(load_hub(str(source).removeprefix("hub:"), split, wanted, notes), known, notes)
    elif str(source).startswith("samples:"):
        by_language = _samples(str(source).removeprefix("samples:"), split, wanted, notes)
    else:
        if Path(source).is_dir():
            _name_other_files(Path(source), known, notes)
        reads = _files(Path(source), known, split, wanted, partial(read_file, format=format, task=known, **options))
        by_language = {}
        for language, read in reads:
            _take_notes(read, notes)
            taken.add(read)
            for item in read.items:
                by_language.setdefault(item.language or language, []).append(item)
        if not Path(source).is_dir():
            by_language = _wanted(by_language, wanted, notes)
    loaded = assemble(by_language, known, split, notes, warn_unknown)
    loaded.taken = taken.lines()
    for line in loaded.taken:
        logger.info("%s", line)
    return loaded


def _files(
    path: Path,
    task: Task | None,
    split: str,
    languages: list[str] | None,
    read_one: Callable[[Path], Read[Any]],
) -> Iterator[tuple[str, Read[Any]]]:
    """What was read of a file, or of the matching files of a folder, with the language of items that tell none."""
    if path.is_dir():
        for file in find_files(path, task.name if task else None, split, languages):
            yield file.language, read_one(file.path)
        return
    read = read_one(path)
    if languages is not None:
        check_name(path, languages, read.items)
    language = language_and_split(path)[0] if languages is None else _one_language(languages)
    if len(languages or ()) > 1 and not any(item.language for item in read.items):
        given = ", ".join(languages or ())
        raise DataError(f"{path}: expected one language for a file that names none itself, but got {given}")
    yield language, read


def check_name(path: Path | None, languages: list[str], items: Collection[Any]) -> None:
    """Refuse a language as that of items which do not tell theirs.

    Raises:
        ConfigError: If it is no code of a language.
        DataError: If the name of their file says another one.
    """
    if path is not None and not any(item.language for item in items):
        check_language_of_name(path, languages)
    if not all(item.language for item in items):
        for language in languages:
            check_language(language)


def _name_other_files(folder: Path, task: Task | None, notes: Notes) -> None:
    """Count the files of a folder that were taken for no split, and name them."""
    if others := other_files(folder, task.name if task else None):
        notes.drop("file_not_taken", len(others))
        names = ", ".join(others[:_MOST_FILES]) + (", ..." if len(others) > _MOST_FILES else "")
        notes.warn(
            None,
            "files",
            f"{folder}: {len(others)} file{'s' * (len(others) > 1)} of the folder were not taken, since no split is in "
            f"the name (as in test-de.tsv and de/test.tsv) or the suffix is none that is read: {names}",
        )


def _wanted(by_language: dict[str, list[Any]], languages: list[str] | None, notes: Notes) -> dict[str, list[Any]]:
    """Items of the requested languages, in their order; the others are counted.

    Raises:
        DataError: There is nothing in one of them.
    """
    if languages is None or not by_language:  # of nothing at all it is said later that there is nothing
        return by_language
    if missing := [language for language in languages if language not in by_language]:
        there = ", ".join(by_language) + as_spelled(missing, by_language)
        raise DataError(f"{notes.path}: expected items in {', '.join(missing)}, but there are items in {there}")
    if others := sum(len(items) for language, items in by_language.items() if language not in languages):
        notes.drop("other_language", others)
    return {language: by_language[language] for language in languages}


def _samples(name: str, split: str, languages: list[str] | None, notes: Notes) -> dict[str, list[Any]]:
    there = sample_files(name, split)
    wanted = list(there) if languages is None else languages
    check_samples(name, split, wanted)
    out = {}
    for language in wanted:
        read = read_file(there[language], SAMPLES[name])
        _take_notes(read, notes)
        for item in read.items:  # what has the same number in two languages was written for each, and is no translation
            item.id, item.own_id = f"{language}-{item.id}", True
        out[language] = read.items
    return out


def _in_iob2(by_language: dict[str, list[Any]], task: Task | None, notes: Notes) -> dict[str, list[Any]]:
    """Entity tags in IOB2, each language from the scheme that it is in; a reader has done so for each file."""
    for language, items in by_language.items():
        read = Read(items, "items", notes.path)
        if all(isinstance(item, Sentence) for item in items):
            finish_tagging(read, None)
        name_odd_labels(read, task.labels if task else ())
        notes.problems += [
            Problem(None, problem.level, problem.kind, f"{notes.path}, {language}: {problem.message}")
            for problem in read.problems
        ]
    return by_language


def _take_notes(read: Read[Any], notes: Notes) -> None:
    notes.dropped.update(read.dropped)
    for problem in read.problems:
        where = f"{read.path}, line {problem.line}" if problem.line else str(read.path)
        notes.problems.append(Problem(problem.line, problem.level, problem.kind, f"{where}: {problem.message}"))


def _one_language(languages: Sequence[str] | None) -> str:
    return languages[0] if languages and len(languages) == 1 else UNKNOWN_LANGUAGE
