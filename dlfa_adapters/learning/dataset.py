"""From data to rows for Trainer, and what is said of both: labels, and a hash of all that training reads."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.kinds.encoded import Examples
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import Task


def make_examples(task: Task, dataset: Any, tokenizer: Any, settings: Settings) -> Examples:
    """Rows of a dataset with the columns of `load_source`."""
    kind = kind_of_task(task)
    return examples_of(task, kind.inputs(dataset), kind.gold(dataset), tokenizer, settings)


def examples_of(task: Task, inputs: Sequence[Any], gold: Sequence[Any], tokenizer: Any, settings: Settings) -> Examples:
    """Rows of inputs and their gold, in the form that the kind of the task has."""
    encoded = kind_of_task(task).encode(
        tokenizer,
        inputs,
        task.labels,
        max_length=settings.text.max_length,
        context=settings.text.context,
        pooling=settings.head.pooling,
    )
    return Examples(task, encoded, list(gold))


def labels_in(predictions: Sequence[Any]) -> int:
    """How many different tags or labels some predictions have."""
    return len({tag for tags in predictions for tag in ([tags] if isinstance(tags, str) else tags)})


def label_counts(dataset: Any, kind: str) -> Counter[str]:
    """How often each label occurs."""
    return kind_named(kind).label_counts(kind_named(kind).gold(dataset))


def data_fingerprint(dataset: Any) -> str:
    """A hash of all that training reads of a dataset, wherever it came from."""
    digest = hashlib.sha256()
    columns = [name for name in dataset.features if name not in ("id", "placeholder")]
    for row in zip(*(dataset[name] for name in columns), strict=True):
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
