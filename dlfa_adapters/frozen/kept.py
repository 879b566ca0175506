"""Which epoch of a head is kept: the best on source dev, or the first one that is nearly as good."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from dlfa_adapters.frozen.stacked import HeadSpec


@dataclass
class Epoch:
    """An epoch that may be the one to keep.

    Attributes:
        number: From 1.
        score: Its dev score.
        state_dict: The weights after it, under the names of `FusionClassifier`.
        counts: By name of other data, what their score was a function of, (sentences, counts).
    """

    number: int
    score: float
    state_dict: dict[str, Tensor]
    counts: dict[str, Tensor] = field(default_factory=dict)


@dataclass
class TrainedHead:
    """A head after training.

    Attributes:
        spec: What was trained.
        dev_scores: The dev score after each epoch; none without dev data.
        watched: Scores on other data after each epoch, by name; they choose nothing.
        epochs: The epochs that may still be the one to keep, in order; the first one is.
    """

    spec: HeadSpec
    dev_scores: list[float] = field(default_factory=list)
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
    def state_dict(self) -> dict[str, Tensor]:
        """Its weights."""
        return self.epochs[0].state_dict

    @property
    def counts(self) -> dict[str, Tensor]:
        """What its scores on other data are functions of."""
        return self.epochs[0].counts

    def after_epoch(self, number: int, score: float | None, within: float, make: Callable[[], Epoch]) -> None:
        """Take note of an epoch, and forget those that can no longer be kept.

        The first epoch is kept whose score is at most `within` points below the best of all. That can only be one that
        was better than all before it.

        Args:
            number: The epoch, from 1.
            score: Its dev score; None without dev data: the last epoch is kept.
            within: Points.
            make: Makes the record of it.
        """
        if score is None:
            self.epochs = [make()]
            return
        self.dev_scores.append(score)
        if not self.epochs or score > self.epochs[-1].score:
            self.epochs = [epoch for epoch in self.epochs if epoch.score >= score - within] + [make()]
