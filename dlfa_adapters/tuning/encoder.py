"""What of the encoder's own weights learns: all of them, the upper blocks, none."""

from typing import Any, ClassVar

from dlfa_adapters.encoders.parts import blocks_of, embeddings_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, freeze, freeze_unused


class Full(Tuning):
    """Everything learns. Learning rate, batch and epochs are those of Chen et al. 2022 (arXiv 2205.08497)."""

    name: ClassVar[str] = "full"
    summary: ClassVar[str] = "every parameter learns"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=2e-5, head_learning_rate=2e-5, epochs=5)
    saved: ClassVar[Saved] = "encoder"
    takes_argument: ClassVar[bool] = False

    def prepare(self, model: Any, head_name: str) -> Any:
        """Let everything learn that the head's loss reaches."""
        model.requires_grad_(True)
        freeze_unused(model, head_name)
        return model


class Freeze(Tuning):
    """Embeddings and blocks 1..n stay as they are (Wu and Dredze 2019, arXiv 1904.09077, section 4.2).

    Args:
        argument: n, from 0 (the embeddings alone) to the depth of the encoder.

    Raises:
        ConfigError: If it is no such number.
    """

    name: ClassVar[str] = "freeze"
    summary: ClassVar[str] = "freeze:6 keeps embeddings and blocks 1..6, the rest learns"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=2e-5, head_learning_rate=2e-5, epochs=5)
    saved: ClassVar[Saved] = "encoder"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        if argument is None or not argument.isdecimal():
            raise ConfigError(
                f"--tuning freeze needs the number of blocks to freeze, got {str(self)!r}; type e.g. --tuning freeze:6."
            )
        self.bottom = int(argument)

    def prepare(self, model: Any, head_name: str) -> Any:
        """Freeze the bottom; what the head's loss reaches above it learns."""
        blocks = blocks_of(model)
        if self.bottom > len(blocks):
            raise ConfigError(
                f"--tuning {self} freezes {self.bottom} blocks, but this encoder has {len(blocks)}; "
                f"type freeze:{len(blocks) // 2}, or features to freeze all of it."
            )
        model.requires_grad_(True)
        for part in (*embeddings_of(model), *blocks[: self.bottom]):
            freeze(part)
        freeze_unused(model, head_name)
        return model

    def frozen_blocks(self, num_layers: int) -> int:
        """The n of the argument."""
        return self.bottom


FEATURE_RATES = (3e-3, 1e-2, 3e-2, 1e-1)
"""Tried for every head: the best of them differs by a factor of ten between heads, and between data."""

BETO = Defaults(
    learning_rate=1e-3,
    head_learning_rate=1e-3,
    epochs=100,
    head={"gate": "attention"},
    head_learning_rates=(3e-4, 1e-3, 3e-3),
)
"""With an LSTM (Wu and Dredze 2019, arXiv 1904.09077): Adam from 1e-3, or from a rate beside it that is better on dev,
until it has been halved below 1e-5, which takes seven epochs without a lower loss on dev; the number of epochs is a
limit that is not meant to be reached."""


class Features(Tuning):
    """The encoder stays as it is; fusion and classifier learn on its hidden states, which are computed once.

    The gate is `attention` by default: on a frozen encoder it learns faster than the printed one.
    """

    name: ClassVar[str] = "features"
    summary: ClassVar[str] = "the encoder is frozen and runs once; fusion and classifier learn on its states"
    defaults: ClassVar[Defaults] = Defaults(
        learning_rate=3e-3,
        head_learning_rate=3e-3,
        epochs=10,
        head={"gate": "attention"},
        head_learning_rates=FEATURE_RATES,
    )
    saved: ClassVar[Saved] = "head"
    on_states: ClassVar[bool] = True
    takes_argument: ClassVar[bool] = False

    def prepare(self, model: Any, head_name: str) -> Any:
        """Freeze the encoder."""
        model.base_model.requires_grad_(False)
        return model

    def defaults_for(self, classifier: str) -> Defaults:
        """Those of Wu and Dredze for their LSTM."""
        return BETO if classifier == "bilstm" else self.defaults

    def frozen_blocks(self, num_layers: int) -> int:
        """All of them."""
        return num_layers
