"""What is to be trained: task, labels, data, model and options, all of it known before the first step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlfa_adapters.data.assemble import Loaded, join_loaded
from dlfa_adapters.data.reading import AS_FOUND, Reading, each_place
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.ground.running import device_name
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.learning.auto_layer import LayerChoice
from dlfa_adapters.learning.dataset import data_fingerprint, label_counts
from dlfa_adapters.learning.early import NO_DEV
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import Task, get_task, labels_in_order
from dlfa_adapters.tasks.labels import lookalikes
from dlfa_adapters.tuning import TUNINGS, PartSize, Tuning, trainable_share

Source = str | Path | Iterable[Any]
"""A place of data, or items."""
Sources = Source | Mapping[str, Source]
"""One, or by language one for each."""
PYTHON_OBJECTS = "Python objects"
"""What stands for a source that is no place."""


@dataclass
class Plan:
    """A training that is about to begin; `train` hands it to `on_start`.

    Attributes:
        task: The task, with the labels of the head.
        tuning: The tuning.
        settings: Resolved ones.
        encoder: The encoder, with the head on it.
        model: The model that learns: that of the encoder, or what the tuning put around it.
        out: Where the run will be.
        data: For `train` and `dev`: source, language, items, fingerprint.
        report: Parameters by part.
        taken: What the files were taken for.
        notes: Sentences that the user should read.
        choice: The fuse layer that was chosen, and why; None where it was given.
        tried: Learning rates of the head that were tried, and the best dev score at each.
        steps: How many there will be in all, unless the training ends earlier.
        states: What happens to the states of blocks that do not change; nothing where there are none.
    """

    task: Task
    tuning: Tuning
    settings: Settings
    encoder: Encoder
    model: Any
    out: Path
    data: dict[str, dict[str, Any]]
    report: list[PartSize] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    choice: LayerChoice | None = None
    tried: dict[float, float] = field(default_factory=dict)
    steps: int = 0
    states: str = ""

    def lines(self) -> list[str]:
        """What is going to be trained, and what else there is: for the screen or a log, without the notes."""
        steps, head = self.settings.steps, self.encoder.model.heads[self.task.name].config
        trainable, total = trainable_share(self.report)
        layers = f", fuse layer {', '.join(map(str, head['fuse_layer']))}" if head["fuse_layer"] else ""
        others = ", ".join(name for name in TUNINGS if name != self.tuning.name)
        where = device_name("no GPU")
        rate = f"learning rate {steps.learning_rate:g}"
        if steps.head_learning_rates and "dev" in self.data:
            how = "for three evaluations each" if head["classifier"] == "bilstm" else "side by side"
            rate = f"learning rates {', '.join(f'{each:g}' for each in steps.head_learning_rates)} tried {how}"
        elif steps.head_learning_rate != steps.learning_rate:
            rate += f", head {steps.head_learning_rate:g}"
        epochs = f"{steps.epochs} epochs ({self.steps:,} steps)"
        length = f"{steps.max_steps} steps" if steps.max_steps > 0 else epochs
        gate = f", gate {head['gate']}" if head["fusion"] == "dlfa" else ""
        lstm = f", LSTM of 2 x {head['lstm_hidden']} units" if head["classifier"] == "bilstm" else ""
        data = [("dev " if name == "dev" else "") + _in_words(described) for name, described in self.data.items()]
        return [
            f"Encoder: {self.encoder.origin}",
            f"Tuning: {self.tuning} ({self.tuning.summary}); there is also {others}",
            f"Head: {head['fusion']}{layers}{gate}{lstm}, {len(self.task.labels)} labels",
            f"Data: {'; '.join(data)}",
            *(f"Read: {line}" for line in self.taken),
            f"Parameters: {trainable:,} of {total:,} learn ({100 * trainable / total:.2f} %)",
            f"Steps: {length}, batch {steps.batch_size}, {rate}, {self.settings.machine.precision}; {where}",
            *([self.states] if self.states else []),
        ]


def _in_words(described: dict[str, Any]) -> str:
    languages = described["language"]
    names = languages if isinstance(languages, str) else ", ".join(languages)
    places = ", ".join(map(str, each_place(described["source"])))
    return f"{places} ({names}, {described['items']:,} items)"


def load_split(source: Sources, task: str, split: str, language: str | None, reading: Reading = AS_FOUND) -> Loaded:
    """Training or dev data in the source language, or in several.

    Args:
        source: See `load_source`; or one for each language.
        task: Name of the task.
        split: `train` or `dev`.
        language: Language code, or several with commas between them; None: English, or for a single file what its name
            says.
        reading: How files are read.

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


def check_same_kind(train: Loaded, dev: Loaded | None) -> None:
    """Dev data must be of the kind of the training data.

    Raises:
        DataError: One has a tag a word, the other a label a text.
    """
    if dev is not None and dev.kind != train.kind:
        wanted, got = kind_named(train.kind).described, kind_named(dev.kind).described
        raise DataError(f"expected dev data like the training data, {wanted}, but got {got}; name others with --dev.")


def task_for(name: str, train: Loaded, labels: str | None) -> Task:
    """The task: a known one with its labels, or any other name with the labels of the training data.

    Args:
        name: Name of the task.
        train: Training data.
        labels: For a known task: `task` keeps its labels and learns nothing from others, `data` takes those of the
            training data; None refuses data with others.

    Raises:
        ConfigError: If the data have labels that a known task has not, and `labels` does not say what to do.
    """
    known = get_task(name)
    counts = label_counts(train.dataset, train.kind)
    kind = kind_named(train.kind)
    learnt, metric = kind.to_learn(counts)
    found = labels_in_order(learnt)
    if known is None:
        return kind.make_task(name, found, metric, pair=kind.are_pairs(kind.inputs(train.dataset)))
    if labels == "data":
        return replace(known, labels=kind.make_task(name, found, known.metric).labels)
    slips = (counts.keys() - set(learnt)) | {
        label for label, like in lookalikes(counts).items() if like in known.labels
    }
    unknown = {label: n for label, n in train.unknown_labels.items() if label not in slips}
    if unknown and labels is None:
        most = ", ".join(f"{label} ({n})" for label, n in list(unknown.items())[:5])
        raise ConfigError(
            f"{train.source} has labels that the task {name} does not have: {most}; type --labels data to take the "
            "labels from the data, or --labels task to learn nothing from these."
        )
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
