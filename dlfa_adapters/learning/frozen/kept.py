"""Which epoch of a head is kept: the best on source dev, or the first one that is nearly as good."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from dlfa_adapters.learning.frozen.optimizer import Rate
from dlfa_adapters.learning.frozen.stacked import HeadSpec

_UNKNOWN = Rate(math.nan, math.nan)


@dataclass
class Epoch:
    """An epoch that may be the one to keep.

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
        epochs: The epochs that may still be the one to keep, in order; the first one is.
    """

    spec: HeadSpec
    rate: Rate = _UNKNOWN
    dev_scores: list[float] = field(default_factory=list)
    dev_losses: list[float] = field(default_factory=list)
    watched: dict[str, list[float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The epoch that is kept, from 1."""
        return self.epochs[0].number

    @property
    def dev_score(self) -> float:
        """The dev score of the epoch that is kept."""
        return self.epochs[0].score

    @property
    def quality(self) -> tuple[float, float]:
        """What rates are compared by: the best dev score, and among equal ones the lower loss, as a negative number.

        That is of the epoch that is kept, unless one is kept that is only nearly as good.
        """
        return max(zip(self.dev_scores, (-loss for loss in self.dev_losses), strict=True))

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
        """Take note of an epoch, and forget those that can no longer be kept.

        With `within=0` the epoch of the best score is kept, among equal ones that of the lowest loss. Otherwise the
        first epoch is kept whose score is at most `within` points below the best of all; that can only be one that was
        better than all before it.

        Args:
            number: The epoch, from 1.
            score: Its dev score; None without dev data: the last epoch is kept.
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
