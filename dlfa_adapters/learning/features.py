"""The tuning `features`: the encoder runs once over the data, and a head learns on its states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads import DLFAHead
from dlfa_adapters.heads.schema import STOCK_HEAD_TYPES
from dlfa_adapters.kinds import Kind, kind_of_task
from dlfa_adapters.kinds.examples import MACRO_F1, Examples
from dlfa_adapters.learning.arguments import epochs_between
from dlfa_adapters.learning.dataset import labels_in
from dlfa_adapters.learning.frozen import HeadSpec, Linear, Plateau, Rate, RateTrial, TrainedHead, learn_on_states
from dlfa_adapters.learning.frozen.examples import OnStates
from dlfa_adapters.learning.frozen.learn import with_states
from dlfa_adapters.learning.settings import Settings


@dataclass(frozen=True)
class OnFeatures:
    """What came of a training on frozen states.

    Attributes:
        trial: The head, at each rate that was tried.
        labels: How many different labels it predicts on dev; None without dev data.
        epochs: How long it was trained at the most; dev chose the epoch among these.
        lengths: By epochs the best dev score, where there were trainings of several lengths.
        by_language: `dev`, the score of each language, and `macro_f1`, that of each.
    """

    trial: RateTrial
    labels: int | None
    epochs: int
    lengths: dict[int, float] = field(default_factory=dict)
    by_language: dict[str, dict[str, float]] = field(default_factory=dict)


def train_features(
    model: Any,
    head_name: str,
    pad_token_id: int,
    train: Examples,
    dev: Examples | None,
    settings: Settings,
    folder: Path | None,
    progress: Progress,
    centring: Centring | None = None,
    shorter: int = 0,
    aux: Mapping[str, Examples] = MappingProxyType({}),
) -> OnFeatures:
    """Train the head of a model on frozen states.

    A linear head learns at several rates side by side; one with an LSTM by the schedule of Wu and Dredze 2019. On small
    data dev chooses the length too: many passes over a hundred pairs of texts teach a head the pairs, and few passes
    over fifty sentences nothing.

    Args:
        model: A model of adapters with a head of that name; it has the trained weights afterwards.
        head_name: Name of the head.
        pad_token_id: The tokenizer's.
        train: Training data.
        dev: Source dev data, which choose the epoch; without them it is the last one. An LSTM needs them.
        settings: Resolved ones.
        folder: For hidden states; a training that is cut short goes on from what is there and beside it. None: nowhere,
            and it begins anew.
        progress: Called after each batch.
        centring: What is taken off the states; None: nothing.
        shorter: Epochs of a second, shorter training, which is kept if it is better on dev; 0: none.
        aux: Training data of auxiliary tasks, by the names of their heads, which the model has too. They share nothing
            that learns, so they learn one after the other, as long and at the rate that was best for the main one.

    Raises:
        ConfigError: If words are not to be read at their first piece, or an LSTM gets no dev data.
    """
    _check(settings, kind_of_task(train.task), dev)
    head, device = model.heads[head_name], model.device
    data = {"train": train, **({} if dev is None else {"dev": dev}), **aux}
    layers = sorted({layer for name in (head_name, *aux) for layer in model.heads[name].indices})
    states = with_states(model, data, layers, pad_token_id, folder, progress, centring=centring)
    lstm = settings.head.classifier == "bilstm"
    spec = _spec(model, head_name, train, settings)
    ways = {
        "epoch": settings,
        **({"shorter": settings.changed(epochs=shorter)} if shorter else {}),
    }
    trials = _at_each_length(head if lstm else spec, states["train"], states.get("dev"), ways, folder, progress)
    epochs = max(trials, key=lambda length: trials[length].quality) if shorter else next(iter(trials))
    trial = trials[epochs]
    if lstm:
        head.load_state_dict(trial.head.state_dict)
    else:
        _add(model, head_name, trial.head, train)
    labels, by_language = None, {}
    if dev is not None:
        on_dev = states["dev"]
        predicted = on_dev.predictions(model.heads[head_name].to(on_dev.states.device))
        labels = labels_in(dev.task, predicted)
        by_language = {"dev": dev.scores(predicted), MACRO_F1: dev.macro_f1(predicted)}
    settings = settings.changed(epochs=epochs, head_learning_rate=trial.rate.learning_rate)
    for number, (name, examples) in enumerate(aux.items()):
        spec, way = _spec(model, name, examples, settings), {f"epoch-{number}": settings}
        [learned] = _at_each_length(spec, states[name], None, way, folder, progress, f"Training ({name})").values()
        _add(model, name, learned.head, examples)
    model.active_head = head_name
    model.to(device)
    lengths = {length: max(each.dev) for length, each in trials.items()} if shorter else {}
    return OnFeatures(trial, labels, epochs, lengths, by_language)


def _spec(model: Any, name: str, train: Examples, settings: Settings) -> HeadSpec:
    """A head of a model, as it is described for training on states."""
    return spec_of(settings, name, tuple(model.heads[name].config["fuse_layer"] or ()), kind_of_task(train.task))


def _add(model: Any, name: str, trained: TrainedHead, train: Examples) -> None:
    add_trained_head(model, name, trained, train.task.labels, kind_of_task(train.task).head_types[0])


def _at_each_length(
    head: DLFAHead | HeadSpec,
    train: OnStates,
    dev: OnStates | None,
    ways: Mapping[str, Settings],
    folder: Path | None,
    progress: Progress,
    stage: str = "Training",
) -> dict[int, RateTrial]:
    """By the number of epochs what came of a training that is as long; `ways` are settings by the name of a file."""
    rows, trials = train.examples.epoch_rows, {}
    total = sum(way.steps.total(rows) for way in ways.values())
    for name, way in ways.items():
        [trials[way.steps.epochs or 1]] = learn_on_states(
            [head],
            train,
            dev,
            train.examples.task,
            schedule_of(way, rows),
            rates=[rates_of(way, with_dev=dev is not None)],
            seed=way.steps.seed,
            checkpoint=folder and folder.with_name(f"{name}.safetensors"),
            on_progress=lambda done, steps: progress(stage, done, total if len(ways) > 1 else steps),
        )
    return trials


def _check(settings: Settings, kind: Kind, dev: object) -> None:
    if settings.head.classifier == "bilstm":
        if dev is None:
            raise ConfigError("--classifier bilstm with --tuning features watches dev data; name some with --dev.")
    elif settings.head.pooling != "first" and kind.own_head is None:
        raise ConfigError(
            f"--tuning features reads words at their first piece, got --pooling {settings.head.pooling}; "
            "leave it out, or type --tuning freeze:12."
        )


def schedule_of(settings: Settings, rows: int | None = None) -> Linear | Plateau:
    """How long heads learn, and how their rate falls.

    Of so many rows of training data small ones are scored after every few epochs; where that is None, after each.
    """
    steps, lstm = settings.steps, settings.head.classifier == "bilstm"
    every = 1 if rows is None else epochs_between(settings, rows, plateau=lstm)
    most = steps.max_steps if steps.max_steps > 0 else None
    if lstm:
        return Plateau(steps.epochs or 1, most, steps.batch_size, every, steps.max_grad_norm)
    return Linear(steps.epochs or 1, most, steps.batch_size, every, steps.within)


def rates_of(settings: Settings, *, with_dev: bool = True) -> list[Rate]:
    """The rates that are tried for a head; without dev data, which choose, a single one."""
    several = settings.steps.head_learning_rates if with_dev else ()
    return all_rates(several or (settings.steps.head_learning_rate or 1e-3,), settings.steps.weight_decay)


def all_rates(learning_rates: Sequence[float], weight_decay: float = Settings().steps.weight_decay) -> list[Rate]:
    """Every learning rate, with the same weight decay."""
    return [Rate(learning_rate, weight_decay) for learning_rate in learning_rates]


def spec_of(settings: Settings, name: str, layers: tuple[int, ...], kind: Kind) -> HeadSpec:
    """The head of settings for a kind of task, with other fuse layers."""
    own, _ = kind.split_options(settings.kind)
    return HeadSpec(name=name, head=settings.head.changed(fuse_layer=layers), seed=settings.steps.seed, own=own)


def add_trained_head(
    model: Any, head_name: str, trained: TrainedHead, labels: Sequence[str], head_type: str = "tagging"
) -> None:
    """Add a head with the trained weights to an adapter model, and activate it.

    Args:
        model: The model whose encoder the states were computed with.
        head_name: Name of the head; one of that name is replaced.
        trained: From `learn_on_states` or `train_heads`.
        labels: Label names by id.
        head_type: `tagging`, `classification`, or that of a kind with a head of its own.
    """
    model.add_dlfa_head(
        head_name,
        head_type=head_type,
        id2label=dict(enumerate(labels)),
        overwrite_ok=True,
        **({"layers": 1} if head_type in STOCK_HEAD_TYPES else {}),
        **trained.spec.own,
        **trained.spec.head.keywords(),
    )
    head = model.heads[head_name]
    own = head.kind is not None and head.kind.own_head == head_type
    last = ("head.", head.inner.out) if own else ("classifier.", head.inner[-1])
    for prefix, module in (("fusion.", head.fusion), last):
        module.load_state_dict(
            {name[len(prefix) :]: value for name, value in trained.state_dict.items() if name.startswith(prefix)}
        )
