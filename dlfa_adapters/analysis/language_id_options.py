"""How languages are learned to be told apart; looked at before anything is loaded."""

from dataclasses import dataclass

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.ranges import check_ranges

POOLINGS = {
    "mean": "mean state over its tokens",
    "sum": "sum of the states of its tokens",
    "first": "state of its first token",
    "last": "state of its last token",
}
"""What stands for a text; special tokens are tokens. Wu and Dredze 2019 have a "bag", which is the mean or the sum."""

LEARNING_RATE, EPOCHS = 1e-3, 200
"""The first rate of the paper; and so many epochs that most rates come to their end before."""


@dataclass(frozen=True, kw_only=True)
class LanguageIdOptions:
    """Options of `identify_languages`.

    Attributes:
        pooling: A name of `POOLINGS`.
        learning_rates: First rates; of several, each layer takes the one that is best for it on dev.
        epochs: Most passes over the training part.
        batch_size: Texts in a step.
        resamples: Bootstrap resamples of the test part.
        seed: Of the first weights, the order of the batches, and the bootstrap.

    Raises:
        ConfigError: If a value cannot work.
    """

    pooling: str = "mean"
    learning_rates: tuple[float, ...] = (LEARNING_RATE,)
    epochs: int = EPOCHS
    batch_size: int = 32
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}; got {self.pooling!r}.")
        if not self.learning_rates:
            raise ConfigError("expected a learning rate or several, got none; type 1e-3.")
        for rate in self.learning_rates:
            check_ranges({"learning_rate": rate})
        check_ranges(vars(self))
        if self.resamples < 1:
            raise ConfigError(f"expected at least one resample, got {self.resamples}; type resamples=1000.")
