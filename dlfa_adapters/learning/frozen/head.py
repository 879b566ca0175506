"""A head on frozen states: which fusion, its rate, and what it is as it learns."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from torch import Tensor

from dlfa_adapters.fusion.options import recorded
from dlfa_adapters.tasks.head_options import HeadOptions


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """A head to train on frozen states: a fusion, and a linear classifier or the head that a kind of task has.

    Attributes:
        name: What it is called in tables: `last`, `D_7`.
        head: Which head.
        seed: Of the initial weights.
        own: Options of the head that the kind has, where they are not its defaults.
    """

    name: str
    head: HeadOptions = field(default_factory=HeadOptions)
    seed: int = 0
    own: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, name: str, seed: int = 0, **options: Any) -> "HeadSpec":
        """A head with options by name, see `HeadOptions`: `HeadSpec.of("D_7", fuse_layer=7, gate="attention")`."""
        return cls(name=name, seed=seed, head=HeadOptions().changed(**options))

    def changed(self, name: str, **options: Any) -> "HeadSpec":
        """Another head, with other values of some options."""
        return replace(self, name=name, head=self.head.changed(**options))

    def record(self) -> dict[str, Any]:
        """For a JSON file."""
        fused = {**recorded(self.head.fusion_options), **self.own, "seed": self.seed}
        return {"name": self.name, "fusion": self.head.fusion, "fuse_layer": self.head.layers, **fused}


class Rate(NamedTuple):
    """How fast a head learns.

    Attributes:
        learning_rate: The first one; it falls as the schedule says.
        weight_decay: Of AdamW.
    """

    learning_rate: float
    weight_decay: float = 0.01


_UNKNOWN = Rate(math.nan, math.nan)

LOWEST_RATE = 1e-5
"""Where the rate is halved as dev stands still, a training ends when it comes below this."""


@dataclass
class Epoch:
    """An epoch that may be the best one.

    Attributes:
        number: From 1.
        score: Its dev score.
        state_dict: The weights after it, under the names of `FusionClassifier`.
        counts: By name of other data, what their score was a function of, (sentences, counts).
        loss: Its mean cross-entropy on dev.
    """

    number: int
    score: float
    state_dict: dict[str, Tensor]
    counts: dict[str, Tensor] = field(default_factory=dict)
    loss: float = math.inf


@dataclass
class TrainedHead:
    """A head after training.

    Attributes:
        spec: What was trained.
        rate: At which rate.
        dev_scores: The dev score after each epoch; none without dev data.
        dev_losses: The mean cross-entropy on dev, likewise.
        watched: Scores on other data after each epoch, by name; they choose nothing.
        epochs: The epochs that may still be the best one, in order; the first one is.
    """

    spec: HeadSpec
    rate: Rate = _UNKNOWN
    dev_scores: list[float] = field(default_factory=list)
    dev_losses: list[float] = field(default_factory=list)
    watched: dict[str, list[float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The best epoch, from 1."""
        return self.epochs[0].number

    @property
    def dev_score(self) -> float:
        """The dev score of the best epoch."""
        return self.epochs[0].score

    @property
    def quality(self) -> tuple[float, float]:
        """What rates are compared by: the best dev score, and among equal ones the lower loss, as a negative number.

        That is of the best epoch, unless one is chosen that is only nearly as good.
        """
        return self.quality_within(None)

    def quality_within(self, evaluations: int | None) -> tuple[float, float]:
        """The same of the first evaluations alone; None: of all."""
        return max(zip(self.dev_scores[:evaluations], (-loss for loss in self.dev_losses[:evaluations]), strict=True))

    @property
    def halved_rate(self) -> float:
        """The first learning rate, halved for every evaluation that had no lower loss on dev than all before it."""
        rate, lowest = self.rate.learning_rate, math.inf
        for loss in self.dev_losses:
            rate /= 2 if loss >= lowest else 1
            lowest = min(lowest, loss)
        return rate

    @property
    def is_halved_out(self) -> bool:
        """Whether there was an evaluation, and the halved rate is below `LOWEST_RATE`."""
        return bool(self.dev_losses) and self.halved_rate < LOWEST_RATE

    @property
    def halved_share(self) -> float:
        """What is left of the first rate where it is halved; 0 where it is halved out."""
        return 0.0 if self.is_halved_out else self.halved_rate / self.rate.learning_rate

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Its weights."""
        return self.epochs[0].state_dict

    @property
    def counts(self) -> dict[str, Tensor]:
        """What its scores on other data are functions of."""
        return self.epochs[0].counts

    def after_epoch(
        self, number: int, score: float | None, within: float, make: Callable[[], Epoch], loss: float = math.inf
    ) -> None:
        """Take note of an epoch, and forget those that can no longer be chosen.

        With `within=0` the epoch of the best score is chosen, among equal ones that of the lowest loss. Otherwise the
        first epoch is chosen whose score is at most `within` points below the best of all; that can only be one that
        was better than all before it.

        Args:
            number: The epoch, from 1.
            score: Its dev score; None without dev data: the last epoch counts.
            within: Points.
            make: Makes the record of it.
            loss: Its dev loss.
        """
        if score is None:
            self.epochs = [make()]
            return
        self.dev_scores.append(score)
        self.dev_losses.append(loss)
        best = self.epochs[-1] if self.epochs else None
        if best is None or score > best.score:
            self.epochs = [epoch for epoch in self.epochs if epoch.score >= score - within] + [make()]
        elif within == 0 and score == best.score and loss < best.loss:
            self.epochs = [make()]
