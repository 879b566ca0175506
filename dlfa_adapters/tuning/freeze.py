"""Freezing the embeddings and the bottom n blocks."""

from typing import Any, ClassVar

from dlfa_adapters.encoders.blocks import blocks_of, embeddings_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, freeze, freeze_unused


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
