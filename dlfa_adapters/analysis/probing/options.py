"""How probes learn and are scored; looked at before anything is loaded."""

from dataclasses import dataclass
from typing import Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.ranges import check_ranges

SCORES = {
    "macro-f1": "F1 of each label, O included, as the mean over labels that are in gold or predicted",
    "metric": "the task's own metric",
}
"""What probes are scored by. The paper has F1-macro for every task."""


@dataclass(frozen=True, kw_only=True)
class ProbeOptions:
    """Options of probes.

    Attributes:
        learning_rates: First rates of AdamW, which fall linearly to zero; of several, each probe takes the one that is
            best for it on dev. The default has one for states of every size, whole layers and single heads.
        epochs: Passes over the training data, by default as many as the paper fine-tunes; the best one on dev counts.
        batch_size: Sentences or texts in a step.
        seed: Of the first weights and the order of the batches.
        score: A name of `SCORES`. Epochs and rates are chosen by the task's metric on dev, whichever it is.
        resamples: Bootstrap resamples, where there are intervals.

    Raises:
        ConfigError: If a value cannot work.
    """

    learning_rates: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0)
    epochs: int = 5
    batch_size: int = 32
    seed: int = 0
    score: str = "macro-f1"
    resamples: int = 1000

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise ConfigError(f"score must be one of {', '.join(SCORES)}; got {self.score!r}.")
        check_learning(self, "1e-2")


def check_learning(options: Any, such_as: str) -> None:
    """Refuse rates, epochs, batches, a seed or resamples that cannot work; `such_as` is a rate to type.

    Raises:
        ConfigError: Naming the first of them.
    """
    if not options.learning_rates:
        raise ConfigError(f"expected a learning rate or several, got none; type {such_as}.")
    for rate in options.learning_rates:
        check_ranges({"learning_rate": rate})
    check_ranges(vars(options))
    if options.resamples < 1:
        raise ConfigError(f"expected at least one resample, got {options.resamples}; type resamples=1000.")
