"""The tuning `features`: the encoder runs once over the data, and a head learns on its states."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads import DLFAHead
from dlfa_adapters.kinds import Kind, kind_of_task
from dlfa_adapters.kinds.examples import MACRO_F1, Examples
from dlfa_adapters.learning.dataset import labels_in
from dlfa_adapters.learning.features import add_trained_head, rates_of, schedule_of, spec_of
from dlfa_adapters.learning.finish import Outcome
from dlfa_adapters.learning.frozen import HeadSpec, OnStates, RateTrial, TrainedHead, learn_on_states, with_states
from dlfa_adapters.learning.plan import Ready
from dlfa_adapters.learning.ranges import at_the_edge
from dlfa_adapters.learning.settings import Settings

logger = logging.getLogger(__name__)


def train_on_states(ready: Ready, folder: Path, report: Progress) -> Outcome:
    """Train the head of a plan on frozen states; its model has the trained weights afterwards.

    A linear head learns at several rates side by side; one with an LSTM by the schedule of Wu and Dredze 2019. On small
    data dev chooses the length too: many passes over a hundred pairs of texts teach a head the pairs, and few passes
    over fifty sentences nothing. What dev has chosen is noted in the plan. Heads of auxiliary tasks share nothing that
    learns, so they learn one after the other, as long and at the rate that was best for the main one.

    States are in the folder; a training that is cut short goes on from what is there and beside it.

    Raises:
        ConfigError: If words are not to be read at their first piece, or an LSTM gets no dev data.
    """
    plan, train, dev = ready.plan, ready.train, ready.dev
    settings, model, head_name = plan.settings, plan.encoder.model, plan.task.name
    aux = ready.several.aux if ready.several else {}
    _check(settings, kind_of_task(train.task), dev)
    head, device, pad_token_id = model.heads[head_name], model.device, plan.encoder.tokenizer.pad_token_id
    data = {"train": train, **({} if dev is None else {"dev": dev}), **aux}
    layers = sorted({layer for name in (head_name, *aux) for layer in model.heads[name].indices})
    states = with_states(model, data, layers, pad_token_id, folder, report, centring=plan.centring)
    lstm = settings.head.classifier == "bilstm"
    ways = {"epoch": settings, **({"shorter": settings.changed(epochs=plan.shorter)} if plan.shorter else {})}
    learner = head if lstm else _spec(model, head_name, train, settings)
    trials = _at_each_length(learner, states["train"], states.get("dev"), ways, folder, report)
    epochs = max(trials, key=lambda length: trials[length].quality) if plan.shorter else next(iter(trials))
    trial = trials[epochs]
    if lstm:
        head.load_state_dict(trial.head.state_dict)
    else:
        _add(model, head_name, trial.head, train)
    outcome = Outcome(f"epoch {trial.head.epoch}", trial.head.dev_scores)
    if dev is not None:
        on_dev = states["dev"]
        predicted = on_dev.predictions(model.heads[head_name].to(on_dev.states.device))
        outcome.dev_score, outcome.labels = trial.head.dev_score, labels_in(dev.task, predicted)
        outcome.by_language = {"dev": dev.scores(predicted), MACRO_F1: dev.macro_f1(predicted)}
    settings = settings.changed(epochs=epochs, head_learning_rate=trial.rate.learning_rate)
    for number, (name, examples) in enumerate(aux.items()):
        spec, way = _spec(model, name, examples, settings), {f"epoch-{number}": settings}
        [learned] = _at_each_length(spec, states[name], None, way, folder, report, f"Training ({name})").values()
        _add(model, name, learned.head, examples)
    model.active_head = head_name
    model.to(device)
    if plan.shorter:
        plan.settings = plan.settings.changed(epochs=epochs)
        plan.lengths = {length: max(each.dev) for length, each in trials.items()}
        plan.steps = plan.settings.steps.total(train.epoch_rows)
    if dev is not None:
        plan.settings = plan.settings.changed(head_learning_rate=trial.rate.learning_rate)
        plan.tried = {rate.learning_rate: score for rate, score in zip(trial.rates, trial.dev, strict=True)}
        if trial.edge:
            logger.warning(at_the_edge(trial.edge, trial.rate.learning_rate, plan.tried))
    return outcome


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
    folder: Path,
    report: Progress,
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
            checkpoint=folder.with_name(f"{name}.safetensors"),
            on_progress=lambda done, steps: report(stage, done, total if len(ways) > 1 else steps),
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
