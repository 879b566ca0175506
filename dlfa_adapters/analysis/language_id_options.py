"""How languages are learned to be told apart; looked at before anything is loaded."""

from dataclasses import dataclass

from dlfa_adapters.analysis.probing.options import check_learning
from dlfa_adapters.ground.errors import ConfigError

POOLINGS = {
    "mean": "mean state over its tokens",
    "sum": "sum of the states of its tokens",
    "first": "state of its first token",
    "last": "state of its last token",
}
"""What stands for a text; special tokens are tokens. Wu and Dredze 2019 have a "bag", which is the mean or the sum."""


@dataclass(frozen=True, kw_only=True)
class LanguageIdOptions:
    """Options of `identify_languages`.

    Attributes:
        pooling: A name of `POOLINGS`.
        learning_rates: First rates, by default that of the paper; of several, each layer takes the best for it on dev.
        epochs: Most passes over the training part; by default so many that most rates come to their end before.
        batch_size: Texts in a step.
        resamples: Bootstrap resamples of the test part.
        seed: Of the first weights, the order of the batches, and the bootstrap.

    Raises:
        ConfigError: If a value cannot work.
    """

    pooling: str = "mean"
    learning_rates: tuple[float, ...] = (1e-3,)
    epochs: int = 200
    batch_size: int = 32
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}; got {self.pooling!r}.")
        check_learning(self, "1e-3")
