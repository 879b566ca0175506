"""Full fine-tuning: every parameter of the encoder and the head learns."""

from typing import Any, ClassVar

from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, freeze_unused, no_argument


class Full(Tuning):
    """Everything learns. Learning rate, batch and epochs are those of Chen et al. 2022 (arXiv 2205.08497)."""

    name: ClassVar[str] = "full"
    summary: ClassVar[str] = "every parameter learns"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=2e-5, head_learning_rate=2e-5, epochs=5)
    saved: ClassVar[Saved] = "encoder"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        no_argument(self)

    def prepare(self, model: Any, head_name: str) -> Any:
        """Let everything learn that the head's loss reaches."""
        model.requires_grad_(True)
        freeze_unused(model, head_name)
        return model
