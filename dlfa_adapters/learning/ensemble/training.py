"""Training M models at once on the same batches in the same order, each as if it were alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import torch
from torch import Tensor
from transformers import Trainer, get_linear_schedule_with_warmup

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.learning.ensemble import Ensemble
from dlfa_adapters.learning.ensemble.data import DeviceRows, Questions, in_precision
from dlfa_adapters.learning.frozen.head import Epoch, TrainedHead
from dlfa_adapters.learning.rate_choice import Pair
from dlfa_adapters.learning.settings import Settings


class EnsembleOptimizer:
    r"""One optimiser over stacked parameters that does to each member what it would do to that member alone.

    AdamW works element by element, so stacking changes nothing in it. Where members have rates of their own, it knows
    slices of the stacked parameters, which share their storage: neighbours of one rate are one slice.

    Clipping is no such thing: the gradient of member m is scaled by $\min(1, c / (\lVert g_m \rVert + 10^{-6}))$, with
    the norm over all parameters of that member. The norms, (members,), stay on the device; no step waits for a value.

    Args:
        ensemble: What learns.
        settings: Resolved ones.
        steps: How many there will be; in a share of them the rates rise from zero, then they fall linearly to zero.
        pairs: The learning rates of each member, at their highest; None: those of the settings, for all of them.

    Attributes:
        first_bad: The first step, from 1, in which a member's loss or gradient was not finite; 0: none. (members,)
    """

    def __init__(self, ensemble: Ensemble, settings: Settings, steps: int, pairs: Sequence[Pair] | None = None) -> None:
        self.ensemble, self.options = ensemble, settings.steps
        self.first_bad = torch.zeros(len(ensemble), dtype=torch.long, device=ensemble.device)
        self._parameters = [
            (torch.tensor(members, device=ensemble.device), p) for members, p in ensemble.parameters().values()
        ]
        same = Pair(self.options.head_learning_rate or 0.0, self.options.learning_rate)
        self._rates = [same] * len(ensemble) if pairs is None else list(pairs)
        self._slices: list[tuple[Tensor, int, int, Tensor]] = []  # parts that stand for their parameters
        self._optimizer = torch.optim.AdamW(self._groups(), lr=0.0, fused=True)
        self._schedule = get_linear_schedule_with_warmup(self._optimizer, math.ceil(steps * self.options.warmup), steps)
        padding = ensemble.encoder.padding_idx
        self._padding = None if padding is None else ensemble.encoder.vocabulary.row(padding)
        self.step_number = 0

    @torch.no_grad()
    def step(self, losses: Tensor) -> None:
        """Clip, step, and let the rates go on; the gradients of the losses, (members,), are there."""
        self.step_number += 1
        words = self.ensemble.encoder.leaves["words"].grad
        if self._padding is not None and words is not None:  # as `nn.Embedding(padding_idx)`
            words[:, self._padding] = 0
        norms = self._norms()
        bad = ~(torch.isfinite(losses) & torch.isfinite(norms))
        self.first_bad = torch.where(bad & (self.first_bad == 0), self.step_number, self.first_bad)
        if self.options.max_grad_norm > 0:
            factor = (self.options.max_grad_norm / (norms + 1e-6)).clamp(max=1)
            for members, p in self._parameters:
                if p.grad is not None:
                    p.grad.mul_(factor[members].view(-1, *[1] * (p.ndim - 1)))
        decay = self._schedule.lr_lambdas[0](self._schedule.last_epoch) * self.options.weight_decay
        self.ensemble.encoder.vocabulary.decay([1 - (rates.encoder or 0.0) * decay for rates in self._rates])
        for parameter, start, stop, part in self._slices:
            part.grad = None if parameter.grad is None else parameter.grad[start:stop]
        self._optimizer.step()
        self._schedule.step()
        for _, p in self._parameters:
            p.grad = None

    def _norms(self) -> Tensor:
        """The norm of each member's gradient, (members,)."""
        squares = torch.zeros(len(self.ensemble), device=self.ensemble.device)
        for members, p in self._parameters:
            if p.grad is not None:
                squares.index_add_(0, members, torch.linalg.vector_norm(p.grad.reshape(len(p), -1), dim=1).square())
        return squares.sqrt()

    def _groups(self) -> list[dict[str, object]]:
        """Groups of parameters of one rate and weight decay."""
        decayed = _decayed(self.ensemble)
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, (members, p) in self.ensemble.parameters().items():
            of_head = not name.startswith("encoder.")
            rates = [each.head if of_head else each.encoder or 0.0 for each in self._rates]
            decay, start = self.options.weight_decay if name in decayed else 0.0, 0
            for rate, same in groupby(rates[member] for member in members):
                stop = start + sum(1 for _ in same)
                part = p
                if stop - start < len(members):
                    part = p.detach()[start:stop]
                    self._slices.append((p, start, stop, part))
                groups.setdefault((rate, decay), []).append(part)
                start = stop
        return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


def _decayed(ensemble: Ensemble) -> set[str]:
    """Names of parameters that decay: of the encoder all but biases and layer norms, of fusions what Trainer says."""
    leaves = ensemble.encoder.leaves
    names = {f"encoder.{name}" for name in leaves if "norm" not in name and not name.endswith(".bias")}
    for number, group in enumerate(ensemble.heads.groups):
        names.add(f"head.{number}.classifier.weight")
        fusion = Trainer.get_decay_parameter_names(None, group.fusion)
        names |= {f"head.{number}.fusion.{name}" for name in fusion}
    return names


@dataclass
class TrainedMember(TrainedHead):
    """A model after training; `state_dict` has its weights where requested, those of the encoder `encoder.…`.

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

    Batches, groups of parameters, schedule, clipping and the choice of the epoch are those of `learning.train` with
    the same settings, so that without dropout a member ends with the weights, up to rounding, that it would have had
    there. (With dropout it has other random numbers.)

    Args:
        ensemble: The models, with their first weights.
        train: Training data.
        dev: Source dev data, which choose the epoch.
        languages: Other data by name.
        settings: Resolved ones; head options and `every`, `patience` are not looked at.
        pairs: The learning rates of each member; None: those of the settings, for all of them.
        keep_weights: Whether to return the weights of the best epoch.
        on_step: Called with the number of each step, from 1, when it is done.

    Returns:
        The members in their order.
    """
    trained = [TrainedMember(spec) for spec in ensemble.heads.specs]
    sampler = SameLengthSampler(train.lengths, settings.steps.batch_size, settings.steps.seed, mixture=train.mixture)
    steps = settings.steps.total(len(sampler))
    optimizer = EnsembleOptimizer(ensemble, settings, steps, pairs)
    for epoch, batches in enumerate(sampler.epochs(steps), 1):
        for batch in train.batches(batches):
            with in_precision(ensemble.device, str(settings.machine.precision)):
                losses = ensemble.losses(batch)
            losses.sum().backward()
            optimizer.step(losses.detach())
            if on_step is not None:
                on_step(optimizer.step_number)
        _after_epoch(epoch, ensemble, trained, dev, languages, settings, keep_weights)
        for model, step in zip(trained, optimizer.first_bad.tolist(), strict=True):
            model.diverged = step
    return trained


def _after_epoch(
    epoch: int,
    ensemble: Ensemble,
    trained: Sequence[TrainedMember],
    dev: Questions,
    languages: Mapping[str, Questions],
    settings: Settings,
    keep_weights: bool,
) -> None:
    """Score every member, and record of each what may be its best epoch."""

    def ask(questions: Questions, losses: Tensor | None = None) -> tuple[Tensor, list[float]]:
        logits_of = partial(ensemble.logits, training=False)
        return questions.score(questions.ask(len(ensemble), logits_of, str(settings.machine.precision), losses))

    dev_losses = torch.zeros(len(ensemble), device=ensemble.device)
    _, scores = ask(dev, dev_losses)
    answers = {name: ask(questions) for name, questions in languages.items()}
    for member, (model, score, loss) in enumerate(zip(trained, scores, dev_losses.tolist(), strict=True)):
        loss = loss if math.isfinite(loss) else math.inf

        def record(member: int = member, score: float = score, loss: float = loss) -> Epoch:
            counts = {name: by_member[member].clone() for name, (by_member, _) in answers.items()}
            return Epoch(epoch, score, ensemble.state_dict(member) if keep_weights else {}, counts, loss)

        model.after_epoch(epoch, score, settings.steps.within, record, loss)
        for name, (_, values) in answers.items():
            model.watched.setdefault(name, []).append(values[member])
