"""The learning rates of a variant: which were tried, their scores on source dev, and which were chosen.

A variant is tried with its first seed, at all rates, on training and dev data alone; all its seeds then learn at the
rates that were best on dev. No variant, the baseline least of all, is trained at rates that were chosen for another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dlfa_adapters.learning.frozen import TrainedHead
from dlfa_adapters.learning.frozen.learn import edge
from dlfa_adapters.learning.settings import Settings


class Pair(NamedTuple):
    """Two rates.

    Attributes:
        head: Of fusion and classifier.
        encoder: Of the encoder; None where it is frozen.
    """

    head: float
    encoder: float | None = None

    def __str__(self) -> str:
        """For a table: `0.003`, or with the encoder's rate behind it, `0.003/2e-05`."""
        return f"{self.head:g}" if self.encoder is None else f"{self.head:g}/{self.encoder:g}"


class Attempt(NamedTuple):
    """A variant at a pair of rates.

    Attributes:
        rates: The rates.
        dev: The best source dev score; minus infinity if the training has diverged.
        loss: The dev loss of that epoch, infinite where it is not known.
    """

    rates: Pair
    dev: float
    loss: float

    def to_dict(self) -> dict[str, float | None]:
        """For a JSON file, which knows no infinity."""
        return {**self.rates._asdict(), "dev": finite_or_none(self.dev), "loss": finite_or_none(self.loss)}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Attempt":
        """What `to_dict` has written down."""
        dev, loss = told["dev"], told["loss"]
        pair = Pair(told["head"], told["encoder"])
        return cls(pair, -math.inf if dev is None else dev, math.inf if loss is None else loss)

    @classmethod
    def of(cls, head: TrainedHead, rates: Pair) -> "Attempt":
        """What a training says of its rates."""
        score, negative_loss = head.quality
        return cls(rates, score, -negative_loss)


@dataclass(frozen=True)
class RateChoice:
    """The rates of a variant.

    Attributes:
        rates: Those that it is trained at.
        tried: What they were chosen from, by the dev score, and among equal ones by the lower loss; one attempt at
            most: nothing was chosen.
    """

    rates: Pair
    tried: tuple[Attempt, ...] = ()

    @property
    def edges(self) -> list[str]:
        """In words, which rates are at an end of what was tried, so that another one may be better."""
        if not self.tried:
            return []
        ends = {"head": edge(self.rates.head, [attempt.rates.head for attempt in self.tried])}
        if self.rates.encoder is not None:
            ends["encoder"] = edge(self.rates.encoder, [attempt.rates.encoder or 0.0 for attempt in self.tried])
        return [f"{end} {name} rate" for name, end in ends.items() if end]

    def to_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        chosen = {"head": finite_or_none(self.rates.head), "encoder": self.rates.encoder}
        return {**chosen, "tried": [attempt.to_dict() for attempt in self.tried]}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "RateChoice":
        """What `to_dict` has written down."""
        head = math.nan if told["head"] is None else told["head"]
        return cls(Pair(head, told["encoder"]), tuple(map(Attempt.from_dict, told["tried"])))


UNKNOWN = RateChoice(Pair(math.nan))
"""Of a training that was written down before rates were."""


def finite_or_none(value: float) -> float | None:
    """A number for a JSON file."""
    return value if math.isfinite(value) else None


def choose_rates(attempts: Sequence[Attempt]) -> RateChoice:
    """The best of several attempts on source dev."""
    best = max(attempts, key=lambda attempt: (attempt.dev, -attempt.loss))
    return RateChoice(best.rates, tuple(attempts))


def pairs(settings: Settings, *, frozen: bool) -> list[Pair]:
    """What a sweep tries, by settings that are resolved; a single pair is not tried but taken."""
    heads = sorted(settings.steps.head_learning_rates or (settings.steps.head_learning_rate or 1e-3,))
    if frozen:
        return [Pair(head) for head in heads]
    encoders = sorted(settings.steps.learning_rates or (settings.steps.learning_rate or 0.0,))
    if settings.steps.head_learning_rates is None:  # the head's rate is the encoder's
        return [Pair(rate, rate) for rate in encoders]
    return [Pair(head, encoder) for head in heads for encoder in encoders]
