"""The schedule of Wu and Dredze 2019 for a head on frozen states: the rate is halved where dev stands still."""

import copy
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from transformers import set_seed

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.heads import DLFAHead
from dlfa_adapters.learning.frozen.examples import OnStates
from dlfa_adapters.learning.frozen.head import Epoch, HeadSpec, Rate, TrainedHead
from dlfa_adapters.learning.frozen.optimizer import Checkpoint
from dlfa_adapters.learning.frozen.side_by_side import OnEpoch
from dlfa_adapters.learning.safeguards import NotFiniteError

logger = logging.getLogger(__name__)

TRIAL = 3
"""Evaluations after which the best of several first rates goes on alone."""


@dataclass(frozen=True)
class Plateau:
    """Adam; the rate is halved after each evaluation without a lower loss on source dev, and ends under 1e-5.

    The weights with the best score on source dev win, among equal ones those with the lower loss. Of several first
    rates each takes `trial` evaluations, from the same weights on the same batches with the same dropout; the one with
    the best of them goes on from there, so that it ends as it would have ended alone.

    Attributes:
        epochs: Most passes over the training data.
        max_steps: Stop after so many steps, if that is earlier.
        batch_size: Rows in a step.
        every: Read dev after every so many epochs, and at the end; see `arguments.epochs_between`.
        max_grad_norm: Gradients are scaled down to this norm.
        trial: Evaluations by which rates are compared.
    """

    epochs: int
    max_steps: int | None = None
    batch_size: int = 32
    every: int = 1
    max_grad_norm: float = 1.0
    trial: int = TRIAL

    def train(
        self,
        head: DLFAHead,
        rates: Sequence[Rate],
        train: OnStates,
        dev: OnStates,
        seed: int = 0,
        checkpoint: Path | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> list[TrainedHead]:
        """Train copies of a head: at each rate for `trial` evaluations, at the best one to the end.

        Args:
            head: The head, with its first weights.
            rates: The first rates; their weight decay is not used.
            train: Training data.
            dev: Source dev data.
            seed: Of the order of the batches, and of dropout.
            checkpoint: See `learn_on_states`; where there are several rates, its name gets a number for each.
            on_progress: Called after each epoch with 1 and the most epochs that there will be.
            on_epoch: Called after each evaluation.

        Returns:
            The head at each rate.

        Raises:
            NotFiniteError: If the loss on dev is not a finite number; while rates are tried: at all of them.
        """
        several = len(rates) > 1
        total = self.epochs + (len(rates) - 1) * min(self.epochs, self.trial * self.every)

        def done(epochs: int) -> None:
            if on_progress is not None:
                on_progress(epochs, total)

        ways = []
        for i, rate in enumerate(rates):
            path = checkpoint.with_stem(f"{checkpoint.stem}-{i}") if checkpoint and several else checkpoint
            ways.append(_Way(self, head, rate, train, dev, seed, path, done, on_epoch))
            if several:
                ways[-1].go(self.trial)
                if ways[-1].failed:
                    logger.warning("At a first rate of %g: %s", rate.learning_rate, ways[-1].not_finite())
        best = max(ways, key=lambda way: (not way.failed, way.trained.quality_within(self.trial)) if several else 0)
        if best.failed:
            raise best.not_finite()
        best.go(None)
        if best.failed:
            raise best.not_finite()
        return [way.trained for way in ways]


class _Way:
    """A head on its way from a first rate, which may rest after some evaluations.

    Attributes:
        trained: What there is of it so far.
    """

    def __init__(
        self,
        schedule: Plateau,
        head: DLFAHead,
        rate: Rate,
        train: OnStates,
        dev: OnStates,
        seed: int,
        checkpoint: Path | None,
        done: Callable[[int], None],
        on_epoch: OnEpoch | None,
    ) -> None:
        self.schedule, self.head, self.train, self.dev = schedule, copy.deepcopy(head), train, dev
        self.on_epoch, self.done, self.epoch = on_epoch, done, 0
        layers = tuple(head.config["fuse_layer"] or ())
        spec = HeadSpec.of(head.name, seed, fusion=head.config["fusion"], fuse_layer=layers)
        self.trained = TrainedHead(spec, rate)
        self.optimizer = torch.optim.Adam(self.head.parameters(), lr=rate.learning_rate)
        lengths, size = train.states.lengths(), schedule.batch_size
        self.sampler = SameLengthSampler(lengths, size, seed, mixture=train.mixture)
        set_seed(seed)  # of dropout
        self.random, self.saved = _random(), None
        if checkpoint:
            live = [*self.head.parameters(), *self.head.buffers()]
            self.saved = Checkpoint(checkpoint, [self.trained], schedule.epochs, live, self.optimizer)
            self.epoch = self.saved.load([self.trained])
            self.random = self.saved.random or self.random
            self.done(self.epoch)

    def go(self, evaluations: int | None) -> None:
        """Go on until so many evaluations are there; None: to the end."""
        _random(self.random)
        while not self._at_end() and (evaluations is None or len(self.trained.dev_scores) < evaluations):
            self._train_epoch()
            if self.epoch % self.schedule.every and not self._is_last():
                continue
            score, loss = self.dev.evaluate(self.head)
            if not math.isfinite(loss):
                score = 0.0
            self.trained.after_epoch(self.epoch, score, 0.0, partial(self._record, score, loss), loss)
            if self.saved:
                self.saved.random = _random()
                self.saved.save(self.epoch, [self.trained])
            if self.on_epoch is not None:
                self.on_epoch(self.epoch, [self.trained])
        self.random = _random()

    @property
    def failed(self) -> bool:
        """Whether the loss on dev was no finite number, which ends it."""
        return not all(map(math.isfinite, self.trained.dev_losses))

    def not_finite(self) -> NotFiniteError:
        """The error of it then."""
        loss = self.trained.dev_losses[-1]
        return NotFiniteError(f"The loss on dev is {loss} after epoch {self.epoch}; type a smaller --head-lr.")

    def _train_epoch(self) -> None:
        self.sampler.set_epoch(self.epoch)
        batches = self.sampler.batches()
        if self.schedule.max_steps is not None:
            batches = batches[: self.schedule.max_steps - self.epoch * len(batches)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.trained.halved_rate
        self.head.train()
        for rows in batches:
            self.optimizer.zero_grad()
            _, loss, labels = self.train.learned(self.head, rows)
            (loss / labels.clamp(min=1)).backward()
            torch.nn.utils.clip_grad_norm_(self.head.parameters(), self.schedule.max_grad_norm)
            self.optimizer.step()
        self.epoch += 1
        self.done(1)

    def _is_last(self) -> bool:
        """Whether the epoch that is done is the last one."""
        steps, most = self.epoch * -(-len(self.sampler) // self.schedule.batch_size), self.schedule.max_steps
        return self.epoch >= self.schedule.epochs or (most is not None and steps >= most)

    def _at_end(self) -> bool:
        """Whether there is nothing more to do: epochs, steps or the rate are at their end, or it has failed."""
        return self.failed or self._is_last() or self.trained.is_halved_out

    def _record(self, score: float, loss: float) -> Epoch:
        weights = {name: tensor.detach().to("cpu", copy=True) for name, tensor in self.head.state_dict().items()}
        return Epoch(self.epoch, score, weights, loss=loss)


def _random(states: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The states of PyTorch's random numbers, which are set first if they are given."""
    if states:
        torch.set_rng_state(states["cpu"])
        if "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"])
    generators = {"cpu": torch.get_rng_state()}
    return {**generators, "cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else generators
