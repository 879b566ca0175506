"""The data of a training: read and described, as rows of a tokenizer, with a hash of them and what looks wrong."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.data.assemble import Loaded, join_loaded
from dlfa_adapters.data.places import AS_FOUND, Reading, each_place
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.checks import NO_DEV
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import Task, get_task, labels_in_order, lookalikes
from dlfa_adapters.tasks.misspelt import meant

Source = str | Path | Iterable[Any]
"""A place of data, or items."""
Sources = Source | Mapping[str, Source]
"""One, or by language one for each."""
_LABELS_FROM = "type --labels data to take the labels from the data, or --labels task to learn nothing from these"
PYTHON_OBJECTS = "Python objects"
"""What stands for a source that is no place."""


def load_split(source: Sources, task: str, split: str, language: str | None, reading: Reading = AS_FOUND) -> Loaded:
    """Training or dev data in the source language, or in several.

    Languages are codes with commas between them; None: English, or for a single file what its name says. For the source
    see `load_source`; there may be one for each language.

    Raises:
        ConfigError: If languages are named twice.
    """
    if isinstance(source, Mapping):
        if language is not None:
            raise ConfigError(f"The sources have their languages, {', '.join(source)}; leave --language out.")
        parts = [load_source(place, task, split, [code], **reading.of(place)) for code, place in source.items()]
        return join_loaded(parts)
    languages = [code.strip() for code in language.split(",")] if language else None
    return load_source(
        source, task, split, languages or (None if _has_no_splits(source) else ["en"]), **reading.of(source)
    )


def _has_no_splits(source: Sources) -> bool:
    return any(not isinstance(place, str | Path) or Path(place).is_file() for place in each_place(source))


def load_dev(
    dev: Sources | None, train: Sources, task: str, language: str | None, reading: Reading = AS_FOUND
) -> Loaded | None:
    """Dev data: those named, or those beside the training data; None where there are none.

    Raises:
        DataError: If a source that has splits has no dev split.
    """
    if isinstance(dev, str) and dev == NO_DEV:
        return None
    if dev is None and _has_no_splits(train):
        return None
    if isinstance(train, Mapping) and not isinstance(dev, Mapping | None) and not _has_no_splits(dev):
        language = language or ",".join(train)
    try:
        return load_split(train if dev is None else dev, task, "dev", language, reading)
    except DataError as error:
        if dev is not None:
            raise
        raise DataError(f"{error}; name dev data with --dev, or type --dev {NO_DEV}.") from error


def check_same_kind(train: Loaded, dev: Loaded | None, option: str = "--dev") -> None:
    """Dev or test data must be of the kind of the training data.

    Raises:
        DataError: One has a tag a word, the other a label a text.
    """
    if dev is not None and dev.kind != train.kind:
        wanted, got = kind_named(train.kind).described, kind_named(dev.kind).described
        split = "dev" if option == "--dev" else "test"
        raise DataError(
            f"expected {split} data like the training data, {wanted}, but got {got}; name others with {option}."
        )


def task_for(name: str, train: Loaded, labels: str | None, instead: str = _LABELS_FROM) -> Task:
    """The task: a known one with its labels, or any other name with the labels of the training data.

    Args:
        name: Name of the task.
        train: Training data.
        labels: For a known task: `task` keeps its labels and learns nothing from others, `data` takes those of the
            training data; None refuses data with others.
        instead: What to type where they are refused.

    Raises:
        ConfigError: If the data have labels that a known task has not, and `labels` does not say what to do.
    """
    known = get_task(name)
    counts = label_counts(train)
    kind = kind_named(train.kind)
    learnt, metric = kind.to_learn(counts)
    in_order = labels_in_order(learnt)
    if known is None:
        return kind.make_task(name, in_order, metric, pair=kind.are_pairs(kind.inputs(train.dataset)))
    if labels == "data":
        return replace(known, labels=kind.make_task(name, in_order, known.metric).labels)
    slips = (counts.keys() - set(learnt)) | {
        label for label, like in lookalikes(counts).items() if like in known.labels
    }
    unknown = {label: n for label, n in train.unknown_labels.items() if label not in slips}
    if unknown and labels is None:
        most = ", ".join(f"{label} ({n})" for label, n in list(unknown.items())[:5])
        typed = [f"{label} for {like}" for label, like in meant(unknown, known.labels).items()]
        correct = f"correct what is a typing error ({', '.join(typed[:5])}), or " if typed else ""
        raise ConfigError(f"{train.source} has labels that the task {name} does not have: {most}; {correct}{instead}.")
    return known


def source_as_text(source: Sources | None) -> Any:
    """A source as it stands in a file, by language where it is; Python items cannot be written down."""
    if isinstance(source, Mapping):
        return {language: source_as_text(place) for language, place in source.items()}
    if source is None or isinstance(source, str):
        return source
    return str(source) if isinstance(source, Path) else PYTHON_OBJECTS


def describe_data(loaded: Loaded, source: Sources) -> dict[str, Any]:
    """What a run says of its data."""
    languages = list(dict.fromkeys(loaded.dataset["language"]))
    return {
        "source": source_as_text(source),
        "language": languages[0] if len(languages) == 1 else languages,
        "items": len(loaded.dataset),
        "fingerprint": data_fingerprint(loaded.dataset),
        "dropped": dict(loaded.dropped),
        "unknown_labels": dict(loaded.unknown_labels),
        **({"remarks": remarks} if (remarks := loaded.remarks()) else {}),
    }


def make_examples(
    task: Task, dataset: Any, tokenizer: Any, settings: Settings, options: Mapping[str, Any] = MappingProxyType({})
) -> Examples:
    """Rows of a dataset with the columns of `load_source`; `options` are those of `Kind.completed`."""
    kind = kind_of_task(task)
    inputs, languages = kind.completed(kind.inputs(dataset), options), list(dataset["language"])
    return examples_of(task, inputs, kind.gold(dataset), tokenizer, settings, languages)


def examples_of(
    task: Task,
    inputs: Sequence[Any],
    gold: Sequence[Any],
    tokenizer: Any,
    settings: Settings,
    languages: Sequence[str] | None = None,
) -> Examples:
    """Rows of inputs and their gold, in the form that the kind of the task has.

    `languages` are those of the inputs, for `first_sentences`, `center`, and scores by language.

    Raises:
        ConfigError: If sentences of documents are asked for where there are none.
    """
    sentences = settings.text.first_sentences
    if sentences and not kind_of_task(task).takes_pairs:
        raise ConfigError(f"first_sentences cuts documents, and {task.name} has words with tags; leave it out.")
    documents: dict[str, Any] = (
        {"first_sentences": sentences, "languages": languages or [""] * len(inputs)} if sentences else {}
    )
    encoded = kind_of_task(task).encode(
        tokenizer,
        inputs,
        task.labels,
        max_length=settings.text.max_length,
        context=settings.text.context,
        pooling=settings.head.pooling,
        **documents,
    )
    return Examples(task, encoded, list(gold), languages)


def labels_in(task: Task, predictions: Sequence[Any]) -> int:
    """How many different labels some predictions have."""
    return len(set(kind_of_task(task).labels_of(predictions)))


def label_counts(data: Loaded, task: Task | None = None) -> Counter[str]:
    """How often each label occurs, as a task knows it where one is given."""
    kind = kind_named(data.kind)
    return kind.label_counts(kind.gold(data.dataset), None if task is None else task.labels)


def data_fingerprint(dataset: Any) -> str:
    """A hash of all that training reads of a dataset, wherever it came from."""
    digest = hashlib.sha256()
    columns = [name for name in dataset.features if name not in ("id", "placeholder")]
    for row in zip(*(dataset[name] for name in columns), strict=True):
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
