"""How the changes of attention heads are measured; looked at before anything is loaded."""

from dataclasses import dataclass

from dlfa_adapters.encoders.attention import PROJECTIONS
from dlfa_adapters.ground.errors import ConfigError

NORMALISERS = {
    "max": "divided by the largest of the model",
    "relative": "divided by the mean absolute weight of the head before",
    "none": "as they are",
}
"""What becomes of the changes."""


@dataclass(frozen=True, kw_only=True)
class HeadUpdatesOptions:
    """Options of `measure_head_updates`.

    Attributes:
        weights: Names of `PROJECTIONS`.
        normalise: A name of `NORMALISERS`.

    Raises:
        ConfigError: If a value cannot work.
    """

    weights: tuple[str, ...] = PROJECTIONS
    normalise: str = "max"

    def __post_init__(self) -> None:
        if unknown := [name for name in self.weights if name not in PROJECTIONS]:
            raise ConfigError(f"weights must be of {', '.join(PROJECTIONS)}; got {unknown[0]!r}.")
        if not self.weights or len(set(self.weights)) < len(self.weights):
            raise ConfigError(
                f"expected each of {', '.join(PROJECTIONS)} at most once, and one at least, got "
                f"{', '.join(self.weights) or 'none'}; type query,key."
            )
        if self.normalise not in NORMALISERS:
            raise ConfigError(f"normalise must be one of {', '.join(NORMALISERS)}; got {self.normalise!r}.")
