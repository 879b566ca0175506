"""The tuning `features`: the encoder runs once over the data, and a head learns on its states."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.encoders.cache import find_room
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.running import Progress
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Examples
from dlfa_adapters.learning.dataset import labels_in
from dlfa_adapters.learning.frozen import HeadSpec, States, TaggedStates, predict_heads, train_heads
from dlfa_adapters.learning.frozen.export import add_trained_head
from dlfa_adapters.learning.frozen.optimizer import Rate
from dlfa_adapters.learning.frozen.trials import Trial, all_rates, try_rates
from dlfa_adapters.learning.plateau import OnStates, train_on_plateau
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.steps import epochs_between


@dataclass(frozen=True)
class OnFeatures:
    """What came of a training on frozen states.

    Attributes:
        epoch: The epoch that was kept, from 1.
        dev_scores: The dev score of each epoch that was judged; none without dev data.
        dev_score: That of the epoch that was kept; None without dev data.
        labels: How many different labels it predicts on dev; None without dev data.
        trial: Which rates were tried; None if it was one.
    """

    epoch: int
    dev_scores: list[float]
    dev_score: float | None = None
    labels: int | None = None
    trial: Trial | None = None


def train_features(
    model: Any,
    head_name: str,
    pad_token_id: int,
    train: Examples,
    dev: Examples | None,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> OnFeatures:
    """Train the head of a model on frozen states: at several rates side by side, or with an LSTM in a loop of its own.

    Args:
        model: A model of adapters with a head of that name; it has the trained weights afterwards.
        head_name: Name of the head.
        pad_token_id: The tokenizer's.
        train: Training data.
        dev: Source dev data, which choose the epoch; without them it is the last one. An LSTM needs them.
        settings: Resolved ones.
        folder: For hidden states; a training that is cut short goes on from what is there and beside it.
        progress: Called after each batch.

    Raises:
        ConfigError: If words are not to be read at their first piece, or an LSTM gets no dev data.
    """
    _check(settings, dev)
    data = {"train": train} if dev is None else {"train": train, "dev": dev}
    windows = {name: examples.rows for name, examples in data.items()}
    head, device, total = model.heads[head_name], model.device, sum(map(len, windows.values()))
    model.to("cuda" if torch.cuda.is_available() else device).eval()
    lstm = settings.head.classifier == "bilstm"
    cache = find_room(model, windows, sorted(set(head.indices)), folder)
    progress("Computing hidden states, once", 0, total)
    states = cache.states(
        model, windows, pad_token_id, lambda done: progress("Computing hidden states, once", done, total)
    )
    if lstm:
        on_train, on_dev = (OnStates(data[name], states[name]) for name in ("train", "dev"))
        epochs = settings.steps.epochs or 1
        epoch, scores = train_on_plateau(
            head.to(cache.device), on_train, on_dev, settings, lambda: progress("Training", 1, epochs)
        )
        labels = labels_in(on_dev.predictions(head))
        model.to(device)
        return OnFeatures(epoch, scores, max(scores), labels)
    sentences = {name: as_sentences(data[name], states[name]) for name in data}
    specs = [spec_of(settings, head_name, tuple(head.config["fuse_layer"] or ()))]
    options = {
        **steps_of(settings),
        "every": epochs_between(settings, len(train.rows), plateau=False),
        "checkpoint": folder.with_name("epoch.safetensors"),
        "on_progress": lambda done, total: progress("Training", done, total),
    }
    what, rates = (train.task.labels, kind_of_task(train.task).scorer()), rates_of(settings, with_dev=dev is not None)
    if dev is None:
        [trained] = train_heads(specs, sentences["train"], None, *what, rates=rates, **options)
        found = OnFeatures(trained.epoch, [])
    else:
        [trial] = try_rates(specs, sentences["train"], sentences["dev"], *what, rates=rates, **options)
        trained = trial.head
        [predicted] = predict_heads([trained], sentences["dev"], train.task.labels)
        labels = labels_in(predicted)
        found = OnFeatures(trained.epoch, trained.dev_scores, trained.dev_score, labels, trial)
    model.to(device)
    add_trained_head(model, head_name, trained, train.task.labels, head_type=kind_of_task(train.task).head_types[0])
    return found


def _check(settings: Settings, dev: object) -> None:
    if settings.head.classifier == "bilstm":
        if dev is None:
            raise ConfigError("--classifier bilstm with --tuning features watches dev data; name some with --dev.")
    elif settings.head.pooling != "first":
        raise ConfigError(
            f"--tuning features reads words at their first piece, got --pooling {settings.head.pooling}; "
            "leave it out, or type --tuning freeze:12."
        )


def as_sentences(examples: Examples, states: States) -> TaggedStates:
    """Words and tags with their states."""
    return TaggedStates(examples.words, examples.tags, examples.windows, AlignmentCounts(), states)


def steps_of(settings: Settings) -> dict[str, Any]:
    """What `train_heads` takes of settings."""
    return {
        "epochs": settings.steps.epochs or 1,
        "max_steps": settings.steps.max_steps if settings.steps.max_steps > 0 else None,
        "batch_size": settings.steps.batch_size,
        "seed": settings.steps.seed,
        "within": settings.steps.within,
    }


def rates_of(settings: Settings, *, with_dev: bool = True) -> list[Rate]:
    """The rates that are tried for a head; without dev data, which choose, a single one."""
    several = settings.steps.head_learning_rates if with_dev else ()
    return all_rates(several or (settings.steps.head_learning_rate or 1e-3,), [settings.steps.weight_decay])


def spec_of(settings: Settings, name: str, layers: tuple[int, ...]) -> HeadSpec:
    """The head of settings, with other fuse layers."""
    return HeadSpec(name=name, head=settings.head.changed(fuse_layer=layers), seed=settings.steps.seed)
