"""What a tuning is: which parameters learn, at which rates, and what of the model must be saved."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dlfa_adapters.ground.errors import ConfigError

Saved = Literal["head", "adapters", "encoder", "peft"]
"""What a run keeps: a head alone, adapters and head, the whole encoder and head, or a PEFT adapter."""


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """Training options where the user gives none.

    Attributes:
        learning_rate: Of everything but the head.
        head_learning_rate: Of fusion and classifier.
        epochs: Passes over the training data.
        head: Options of the head that have another default with this tuning, where the fusion has them.
        head_learning_rates: Rates of the head that are tried side by side, and of which source dev chooses; where
            there are none, or no dev data, it is `head_learning_rate`.
        min_steps: Least steps in all: small data get more epochs.
    """

    learning_rate: float
    head_learning_rate: float
    epochs: int
    head: Mapping[str, Any] = field(default_factory=dict)
    head_learning_rates: tuple[float, ...] = ()
    min_steps: int = 500


class Tuning(ABC):
    """A way to train an encoder with a DLFA head.

    Args:
        argument: What stands behind the colon of `freeze:6`, or None.

    Attributes:
        name: The name before the colon.
        summary: One line for lists.
        defaults: Training options where the user gives none.
        saved: What a run of it keeps.
        on_states: Whether the encoder is frozen and runs once, and heads learn on its states.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    defaults: ClassVar[Defaults]
    saved: ClassVar[Saved]
    on_states: ClassVar[bool] = False

    def __init__(self, argument: str | None = None) -> None:
        self.argument = argument

    def __str__(self) -> str:
        return self.name if self.argument is None else f"{self.name}:{self.argument}"

    @abstractmethod
    def prepare(self, model: Any, head_name: str) -> Any:
        """Decide which parameters learn; add and activate what the method adds.

        Args:
            model: A model with the head that is to be trained.
            head_name: The head's name, which adapters get too.

        Returns:
            The model, or what wraps it.

        Raises:
            ConfigError: If the argument does not fit the model.
        """

    def defaults_for(self, classifier: str) -> Defaults:
        """Training options where the user gives none, with a classifier of `dlfa_adapters.fusion.CLASSIFIERS`."""
        return self.defaults

    def frozen_blocks(self, num_layers: int) -> int:
        """How many blocks, from the bottom, give the same states before and after training."""
        return 0

    def record(self) -> dict[str, Any]:
        """What `run.json` says of it beyond its name."""
        return {}


def no_argument(tuning: Tuning) -> None:
    """Refuse an argument.

    Raises:
        ConfigError: If there is one.
    """
    if tuning.argument is not None:
        raise ConfigError(f"--tuning {tuning.name} takes nothing behind a colon, got {str(tuning)!r}.")
