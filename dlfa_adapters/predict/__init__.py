"""Words or texts to labels: runs loaded, taggers, classifiers; and what they predict, with the fingerprint of data."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Items:
    """The sentences or texts of one language.

    Attributes:
        language: As the data spell it.
        kind: Name of the kind of task: `tagging` or `classification`.
        ids: Name of each item.
        inputs: The words of each sentence; or the text and the second text (or None) of each item.
        gold: The tags of each sentence; or the label of each item.
        placeholder: Whether the item is a pair that is none (PAWS-X).
        own_ids: Whether `ids` are those of the data and no numbers that a reader gave; None where an earlier version
            saved them and did not say.
    """

    language: str
    kind: str
    ids: list[str]
    inputs: list[Any]
    gold: list[Any]
    placeholder: list[bool]
    own_ids: bool | None = False

    @property
    def total(self) -> int:
        """Words, for tagging; items, for classification: what needs a prediction each."""
        return sum(kind_named(self.kind).sizes(self.gold))

    def gold_labels(self, labels: Sequence[str]) -> list[str]:
        """The gold label of every word or item, as a task with these labels knows it."""
        return kind_named(self.kind).labels_of(self.gold, labels)

    def fingerprint(self) -> str:
        """A hash of inputs and gold labels, 16 hexadecimal digits: equal for the same data in the same order."""
        digest = hashlib.sha256()
        for row in zip(self.inputs, self.gold, strict=True):
            digest.update(json.dumps(row, ensure_ascii=True).encode() + b"\n")
        return digest.hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Predicted(Items):
    """Items with one prediction for each word or text.

    Attributes:
        predicted: In the form of `gold`.
        counts: What the tokenizer did: `n_vanished`, `n_unk_only`, `n_giant`, `n_windows` for tagging; `n_truncated`,
            `pieces_total`, `pieces_dropped` for classification.

    Raises:
        RunError: If a word or item has no prediction, or more than one.
    """

    predicted: list[Any]
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kind = kind_named(self.kind)
        lengths, scored = kind.sizes(self.gold), kind.sizes(self.predicted)
        if lengths != scored:
            raise RunError(
                f"{self.language}: expected one prediction for each of {sum(lengths):,} {kind.units[-1]}, got "
                f"{sum(scored):,}; a score of a part would not be honest, so there is none."
            )

    def without_placeholders(self) -> "Predicted":
        """The same without the pairs that are none."""
        real = [i for i, is_placeholder in enumerate(self.placeholder) if not is_placeholder]
        names = ("ids", "inputs", "gold", "placeholder", "predicted")
        columns: dict[str, Any] = {name: [getattr(self, name)[i] for i in real] for name in names}
        return replace(self, **columns)


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """All predictions of one model for one source of data.

    Attributes:
        name: The run folder, or the folder of a saved evaluation.
        task: The task, with the labels that the model has.
        source_languages: Languages that the model has seen labels of.
        languages: The predictions by language, in the order of the data.
        about: What a report says about run and data.
    """

    name: str
    task: Task
    source_languages: Sequence[str]
    languages: list[Predicted]
    about: dict[str, Any] = field(default_factory=dict)
