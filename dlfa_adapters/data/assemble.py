"""From items to a `datasets.Dataset`: the same columns for all sources, labels compared with the task's, an account."""

import json
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets

from dlfa_adapters.data.readers import Notes, Problem
from dlfa_adapters.data.readers.base import KindOfData, Read
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import KINDS, Task

logger = logging.getLogger(__name__)

TOLD = frozenset(("files", "slip", "notation", "no_spans", "one_sentence"))
"""Kinds of problems that stand in every result; an error in reading would have ended it."""
REASONS = {
    "bad_row": "rows that break the format",
    "blank": "pairs with a blank text",
    "comment_line": "comment lines",
    "comment_without_sentence": "comments without a sentence",
    "docstart_marker": "-DOCSTART- rows",
    "empty_line": "empty lines",
    "empty_node": "empty nodes",
    "file_not_taken": "files",
    "file_without_language": "files whose name and folder tell no language",
    "header_row": "header rows",
    "multiword_range": "rows of multiword ranges",
    "no_gold_label": "pairs without an agreed label",
    "no_words": "sentences without words",
    "other_language": "items in languages that were not asked for",
    "pieces_cut_off": "pieces of pairs that are too long",
    "placeholder": "placeholder pairs",
    "repeated_text": "texts that came before",
    "row_without_known_piece": "rows of which the tokenizer knows no piece",
    "several_languages": "texts that stand in several languages",
    "text_without_label": "texts without a label",
    "word_cut_off": "words whose end was cut off",
}
"""What is left out, in words."""


def left_out(dropped: Mapping[str, int]) -> str:
    """What was left out, for a sentence: `-DOCSTART- rows (2), files (1)`."""
    return ", ".join(f"{REASONS.get(reason, reason)} ({count:,})" for reason, count in dropped.items())


@dataclass
class Loaded:
    """Data with what is to know about it.

    Attributes:
        dataset: Columns `id, language, words, tags` for tagging; `id, language, text, text_pair, label, placeholder`
            for classification. `placeholder` marks pairs that are none (PAWS-X), so that scores can be given without
            them.
        kind: Name of the kind of task that they are for: `tagging` or `classification`.
        source: Where the data came from.
        dropped: Reason -> number of rows or items left out.
        problems: Warnings of the readers, with the file in front of each message.
        unknown_labels: Label that the task does not know -> how often it occurs. Such labels stay in the data.
        own_ids: Languages all of whose items have ids of their own; the others' are numbers that a reader gave.
        taken: What the files were taken for, in a line for each layout.
    """

    dataset: datasets.Dataset
    kind: str
    source: str
    dropped: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    unknown_labels: dict[str, int] = field(default_factory=dict)
    own_ids: frozenset[str] = frozenset()
    taken: list[str] = field(default_factory=list)

    def remarks(self) -> list[str]:
        """What was left out, looks like a slip or was read in another notation: reported with every result."""
        return [problem.message for problem in self.problems if problem.kind in TOLD]


def assemble(
    by_language: dict[str, list[Any]], task: Task | None, split: str, notes: Notes, warn_unknown: bool = True
) -> Loaded:
    """Check items against the task, leave out what training cannot use, and build the dataset.

    Returns:
        The dataset with its account, which also goes to the log.

    Raises:
        DataError: There is nothing, something has no label, or it is not data for this kind of task.
    """
    rows = [(language, item) for language, items in by_language.items() for item in items]
    if not rows:
        raise DataError(f"{notes.path}: expected sentences or examples, but there are none")
    kind = _kind_of({type(item) for _, item in rows}, task, notes)
    rows, labels = kind.usable(rows, task, split, notes)
    unknown = {label: n for label, n in labels.items() if task is not None and label not in task.labels}
    if unknown and task is not None and warn_unknown:
        names = ", ".join(f"{label} ({n})" for label, n in unknown.items())
        fate = "" if split == "train" else "; they are kept and count as errors"
        message = f"{notes.path}: labels that {task.name} does not know: {names}{fate}"
        notes.warn(None, "unknown_labels", message)
    dataset = _dataset(rows, kind, notes)
    account = {"source": str(notes.path), "dropped": dict(notes.dropped), "unknown_labels": unknown}
    dataset.info.description = json.dumps(account, ensure_ascii=False)
    for problem in notes.problems:
        logger.warning("%s", problem.message)
    for reason, count in notes.dropped.items():
        logger.info("%s: left out %d: %s", notes.path, count, reason)
    own_ids = frozenset(language for language, _ in rows) - {language for language, item in rows if not item.own_id}
    return Loaded(dataset, kind.name, str(notes.path), notes.dropped, notes.problems, unknown, own_ids)


def _kind_of(items: set[type], task: Task | None, notes: Notes) -> KindOfData:
    """The task's kind, or the first of those that such items are for."""
    kinds: list[KindOfData] = [kind for kind in KINDS.values() if all(issubclass(item, kind.item) for item in items)]
    if not kinds:
        raise DataError(f"{notes.path}: expected one kind of data, but there are both words with tags and whole texts")
    kind = next((kind for kind in kinds if task is not None and kind.name == task.kind), kinds[0])
    if task is not None and task.kind != kind.name:
        raise DataError(
            f"{notes.path}: expected data for {task.name}, a {task.kind} task, but this is {kind.name} data"
        )
    return kind


def join_loaded(parts: list[Loaded]) -> Loaded:
    """Data of several sources as those of one, in their order.

    Raises:
        DataError: If there are none, or they are not of one kind.
    """
    if not parts:
        raise DataError("expected data, but no source is named")
    if len({part.kind for part in parts}) > 1:
        raise DataError(
            f"expected one kind of data, but {', '.join(f'{part.source} is {part.kind} data' for part in parts)}"
        )
    unknown: Counter[str] = Counter()
    numbered: set[str] = set()  # languages with items that have no ids of their own
    joined = Loaded(
        datasets.concatenate_datasets([part.dataset for part in parts]),
        parts[0].kind,
        ", ".join(part.source for part in parts),
    )
    for part in parts:
        joined.dropped += part.dropped
        joined.problems += part.problems
        joined.taken += [line for line in part.taken if line not in joined.taken]
        unknown.update(part.unknown_labels)
        numbered |= set(part.dataset["language"]) - part.own_ids
    joined.unknown_labels = dict(unknown)
    joined.own_ids = frozenset(joined.dataset["language"]) - numbered
    return joined


def _dataset(rows: list[tuple[str, Any]], kind: KindOfData, notes: Notes) -> datasets.Dataset:
    columns = {
        "id": [item.id for _, item in rows],
        "language": [language for language, _ in rows],
        **kind.columns([item for _, item in rows]),
    }
    features = {**dict.fromkeys(("id", "language"), datasets.Value("string")), **kind.features()}
    try:
        return datasets.Dataset.from_dict(columns, features=datasets.Features(features))
    except UnicodeEncodeError as error:
        raise DataError(
            f"{notes.path}: expected Unicode text, but there is a lone surrogate: {error.reason}"
        ) from error


@dataclass
class Taken:
    """Files by what they were taken for.

    Attributes:
        alike: What was taken for what, and why -> the files, each with its line.
    """

    alike: dict[tuple[str, str, str, str | None], list[tuple[Path, str, int]]] = field(default_factory=dict)

    def add(self, read: Read[Any]) -> None:
        """Count a file in."""
        key = (read.format, read.layout, read.why, read.scheme)
        self.alike.setdefault(key, []).append((Path(read.path), str(read), len(read.items)))

    def lines(self) -> list[str]:
        """One line for all files that were taken for the same."""
        out = []
        for files in self.alike.values():
            path, line, _ = files[0]
            more = (
                f" and {len(files) - 1} more like it, {sum(n for *_, n in files):,} items in all" if files[1:] else ""
            )
            out.append(f"{path}{more}: {line}")
        return out
