"""Training M models at once on the same batches in the same order, each as if it were alone."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from dlfa_adapters.learning.dataset import SameLengthSampler
from dlfa_adapters.learning.ensemble.batches import DeviceRows
from dlfa_adapters.learning.ensemble.ensemble import Ensemble
from dlfa_adapters.learning.ensemble.optimizer import EnsembleOptimizer, Rates
from dlfa_adapters.learning.ensemble.predict import Questions, in_precision
from dlfa_adapters.learning.frozen.kept import Epoch, TrainedHead
from dlfa_adapters.learning.rate_choice import Pair
from dlfa_adapters.learning.settings import Settings


@dataclass
class TrainedMember(TrainedHead):
    """A model after training; `state_dict` has its weights where they were asked for, those of the encoder `encoder.…`.

    Attributes:
        diverged: The step, from 1, at which loss or gradient was no longer a finite number; 0: never.
    """

    diverged: int = 0


def train_ensemble(
    ensemble: Ensemble,
    train: DeviceRows,
    dev: Questions,
    languages: Mapping[str, Questions],
    settings: Settings,
    *,
    pairs: Sequence[Pair] | None = None,
    keep_weights: bool = False,
    on_step: Callable[[int], None] | None = None,
) -> list[TrainedMember]:
    """Train all members of an ensemble, and score each after every epoch.

    Batches, groups of parameters, schedule, clipping and the choice of the epoch are those of `training.train` with
    the same settings, so that without dropout a member ends with the weights, up to rounding, that it would have had
    there. (With dropout it has other random numbers.)

    Args:
        ensemble: The models, with their first weights.
        train: Training data.
        dev: Source dev data, which choose the epoch.
        languages: Other data by name.
        settings: Resolved ones; head options and `every`, `patience` are not looked at.
        pairs: The learning rates of each member; None: those of the settings, for all of them.
        keep_weights: Whether to return the weights of the kept epoch.
        on_step: Called with 1 after each step.

    Returns:
        The members in their order.
    """
    trained = [TrainedMember(spec) for spec in ensemble.heads.specs]
    how = rates(settings, len(train.lengths))
    if pairs is not None:
        encoders = [pair.encoder or 0.0 for pair in pairs]
        how = replace(how, learning_rate=encoders, head_learning_rate=[pair.head for pair in pairs])
    optimizer = EnsembleOptimizer(ensemble, how)
    for epoch, steps in enumerate(_epochs(train.lengths, settings), 1):
        for batch in train.batches(steps):
            with in_precision(ensemble.device, str(settings.machine.precision)):
                losses = ensemble.losses(batch)
            losses.sum().backward()
            optimizer.step(losses.detach())
            if on_step is not None:
                on_step(1)
        _after_epoch(epoch, ensemble, trained, dev, languages, settings, keep_weights)
        for model, step in zip(trained, optimizer.first_bad.tolist(), strict=True):
            model.diverged = step
    return trained


def rates(settings: Settings, rows: int) -> Rates:
    """What the settings mean for so many rows."""
    steps = settings.steps.total(rows)
    return Rates(
        learning_rate=settings.steps.learning_rate or 0.0,
        head_learning_rate=settings.steps.head_learning_rate or 0.0,
        weight_decay=settings.steps.weight_decay,
        max_grad_norm=settings.steps.max_grad_norm,
        steps=steps,
        warmup_steps=math.ceil(steps * settings.steps.warmup),
    )


def _epochs(lengths: list[int], settings: Settings) -> Iterator[list[list[int]]]:
    """The batches of each epoch, in the order of `training.train` for the seed of the settings."""
    sampler = SameLengthSampler(lengths, settings.steps.batch_size, settings.steps.seed)
    left, epoch, size = settings.steps.total(len(lengths)), 0, settings.steps.batch_size
    while left > 0:
        sampler.set_epoch(epoch)
        order = list(sampler)
        batches = [order[i : i + size] for i in range(0, len(order), size)][:left]
        yield batches
        left, epoch = left - len(batches), epoch + 1


def _after_epoch(
    epoch: int,
    ensemble: Ensemble,
    trained: Sequence[TrainedMember],
    dev: Questions,
    languages: Mapping[str, Questions],
    settings: Settings,
    keep_weights: bool,
) -> None:
    """Score every member, and keep of each what may be the epoch to keep."""

    def ask(questions: Questions, losses: Tensor | None = None) -> tuple[Tensor, list[float]]:
        logits_of = partial(ensemble.logits, training=False)
        return questions.score(questions.ask(len(ensemble), logits_of, str(settings.machine.precision), losses))

    dev_losses = torch.zeros(len(ensemble), device=ensemble.device)
    _, scores = ask(dev, dev_losses)
    found = {name: ask(questions) for name, questions in languages.items()}
    for member, (model, score, loss) in enumerate(zip(trained, scores, dev_losses.tolist(), strict=True)):
        loss = loss if math.isfinite(loss) else math.inf

        def record(member: int = member, score: float = score, loss: float = loss) -> Epoch:
            counts = {name: by_member[member].clone() for name, (by_member, _) in found.items()}
            return Epoch(epoch, score, ensemble.state_dict(member) if keep_weights else {}, counts, loss)

        model.after_epoch(epoch, score, settings.steps.within, record, loss)
        for name, (_, values) in found.items():
            model.watched.setdefault(name, []).append(values[member])
