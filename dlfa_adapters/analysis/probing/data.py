"""What probes for a task learn from and are scored on: read once, made into rows for the tokenizer of each model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.places import AS_FOUND, Reading
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.dataset import Sources, check_same_kind, examples_of, load_dev, load_split, task_for
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.predict import Items
from dlfa_adapters.predict.items import check_fit, items_by_language
from dlfa_adapters.tasks import Task


@dataclass(frozen=True, kw_only=True)
class ProbeData:
    """The data of a task.

    Attributes:
        task: The task, with the labels of the probes.
        train: What is learned from, by language.
        dev: What chooses epochs and rates, likewise.
        test: What is scored, all languages together; without it dev is.
        dropped: What was left out on reading, by reason, of all parts.
        taken: What the files were taken for.
    """

    task: Task
    train: list[Items]
    dev: list[Items]
    test: list[Items]
    dropped: dict[str, int] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    @property
    def scored(self) -> list[Items]:
        """What is scored."""
        return self.test or self.dev

    @property
    def scored_on(self) -> str:
        """What is scored, in words: `dev en`, `test de, en`."""
        return f"{'test' if self.test else 'dev'} {', '.join(items.language for items in self.scored)}"

    @property
    def languages(self) -> list[str]:
        """The language of each item that is scored."""
        return [items.language for items in self.scored for _ in items.gold]

    @property
    def sizes(self) -> dict[str, int]:
        """Items of each part."""
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: sum(len(items.gold) for items in part) for name, part in parts.items() if part}

    def fingerprint(self) -> list[str]:
        """Of what is scored, one a language: scores of the same data can be held against each other."""
        return [items.fingerprint() for items in self.scored]

    def examples(self, items: Sequence[Items], tokenizer: Any, most: int | None = None) -> Examples:
        """Some of it as rows of a tokenizer, of at most so many pieces where a model takes no more than `most`."""
        inputs = [each for part in items for each in part.inputs]
        gold = [each for part in items for each in part.gold]
        settings = Settings()
        length = min(settings.text.max_length, most or settings.text.max_length)
        return examples_of(self.task, inputs, gold, tokenizer, settings.changed(max_length=length))


def read_probe_data(
    task: str,
    train: Sources,
    dev: Sources | None = None,
    test: Sources | None = None,
    *,
    language: str | None = None,
    languages: Sequence[str] | None = None,
    labels: str | None = None,
    limit: int | None = None,
    reading: Reading = AS_FOUND,
) -> ProbeData:
    """Read the data of a task.

    Args:
        task: Name of the task, see `learning.train`.
        train: Training data.
        dev: Dev data in the same language; None: the dev split of the training data.
        test: What is scored; None: dev.
        language: Language of train and dev; None: English, or by file name.
        languages: Only these of `test`.
        labels: See `learning.dataset.task_for`.
        limit: Take only the first so many items of each language in each part.
        reading: How files are read.

    Raises:
        ConfigError: If there are no dev data, or units of the task have no label each.
        DataError: If data cannot be read, or are not for the task.
    """
    rows = load_split(train, task, "train", language, reading)
    dev_rows = load_dev(dev, train, task, language, reading)
    if dev_rows is None:
        raise ConfigError("Probes need dev data in the source language, to choose epochs on; name some with --dev.")
    check_same_kind(rows, dev_rows)
    known = task_for(task, rows, labels)
    if not kind_of_task(known).label_a_unit:
        raise ConfigError(
            f"A probe gives a label to a word or a text, and {known.name} is no such task; give one such as ner, pos, "
            "xnli or pawsx."
        )
    parts: list[Loaded] = [rows, dev_rows]
    if test is not None:
        parts.append(load_source(test, task, "test", languages, **reading.of(test)))
    items, dropped = [], dict[str, int]()
    for loaded in parts:
        by_language, without_words = items_by_language(loaded, limit)
        check_fit(by_language, known, loaded.source)
        items.append(by_language)
        for reason, number in {**loaded.dropped, "no_words": without_words}.items():
            if number:
                dropped[reason] = dropped.get(reason, 0) + number
    taken = list(dict.fromkeys(line for loaded in parts for line in loaded.taken))
    scored = items[2] if test is not None else []
    if test is not None and not scored:
        raise DataError(f"{test}: expected test data, got none")
    return ProbeData(task=known, train=items[0], dev=items[1], test=scored, dropped=dropped, taken=taken)
