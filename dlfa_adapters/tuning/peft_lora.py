"""LoRA by PEFT, on the plain Transformers classes."""

from typing import Any, ClassVar

from dlfa_adapters.tuning.base import Defaults, Saved, Tuning
from dlfa_adapters.tuning.lora import LoRA, check_rank


class PeftLoRA(Tuning):
    """The LoRA of PEFT, with rank r and alpha 2r, on a `DLFAForTokenClassification` or `DLFAForSequenceClassification`.

    The same method as `lora`; what it saves can be used without the package adapters, and merged into the encoder.

    Args:
        argument: The rank; 8 without it.

    Raises:
        ConfigError: If it is no whole number from 1 up.
    """

    name: ClassVar[str] = "peft-lora"
    summary: ClassVar[str] = "low-rank updates by PEFT, on plain Transformers classes; peft-lora:16 sets the rank"
    defaults: ClassVar[Defaults] = LoRA.defaults
    saved: ClassVar[Saved] = "peft"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self.rank = check_rank(self)

    def prepare(self, model: Any, head_name: str) -> Any:
        """A plain model with the same head, and the updates on it."""
        from peft import get_peft_model

        from dlfa_adapters.models import lora_config
        from dlfa_adapters.tuning.convert import to_plain

        plain = to_plain(model, head_name)
        return get_peft_model(plain, lora_config(plain, r=self.rank))

    def record(self) -> dict[str, Any]:
        """Which implementation, and its rank."""
        import peft

        return {"implementation": f"peft {peft.__version__}", "rank": self.rank, "alpha": 2 * self.rank}
