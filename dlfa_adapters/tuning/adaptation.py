"""Domain adaptation: the encoder's own weights learn by masked language modelling, directly or through LoRA."""

from typing import TYPE_CHECKING, Any, ClassVar

from dlfa_adapters.tuning import get_tuning
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning
from dlfa_adapters.tuning.lora import LoRA

if TYPE_CHECKING:
    from dlfa_adapters.heads.decoder import Decoder

NEW_DECODER_RATE = 3e-3
"""Learning rate of a decoder that has to be learnt; that of a checkpoint learns at the rate of the encoder."""


class Adaptation(Tuning):
    """The encoder learns to find hidden pieces, and is an encoder again afterwards.

    Args:
        learns: `full`, `freeze:N`, `lora` or `lora:RANK`; a LoRA is added to the weights by `finish`.

    Attributes:
        decoder: The checkpoint's own; None for a new one over the encoder's input embeddings.
    """

    name: ClassVar[str] = "adapt"
    summary: ClassVar[str] = "the encoder by masked language modelling on unlabelled text"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=5e-5, head_learning_rate=5e-5, epochs=1)
    saved: ClassVar[Saved] = "encoder"

    def __init__(self, learns: str) -> None:
        super().__init__(learns)
        self.inner: Tuning = get_tuning(learns)
        self.decoder: Decoder | None = None

    @property
    def is_lora(self) -> bool:
        """Whether low-rank updates learn, and no weight of the encoder itself."""
        return isinstance(self.inner, LoRA)

    def defaults_for(self, classifier: str) -> Defaults:
        """Ten times the rate for LoRA."""
        return Defaults(learning_rate=5e-4, head_learning_rate=5e-4, epochs=1) if self.is_lora else self.defaults

    def prepare(self, model: Any, head_name: str) -> Any:
        """Put the decoder on the encoder in the place of all heads, and let both learn.

        Raises:
            ConfigError: If the encoder has fewer blocks than are to be frozen.
        """
        from dlfa_adapters.heads.decoder import add_decoder

        for other in list(model.heads):
            model.delete_head(other)
        add_decoder(model, head_name, self.decoder)
        model.active_head = head_name
        return self.inner.prepare(model, head_name)

    def finish(self, model: Any, head_name: str) -> None:
        """Add the LoRA to the weights; `save_encoder` leaves its own out."""
        if self.is_lora:
            model.merge_adapter(head_name)

    def record(self) -> dict[str, Any]:
        """What learnt, and where the decoder is from."""
        return {
            "learns": str(self.inner),
            **self.inner.record(),
            "decoder": "new" if self.decoder is None else "the checkpoint's",
        }
