"""LoRA: low-rank updates of the attention's query and value matrices, by adapters or by PEFT."""

import re
from typing import Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, block_names, check_left_out, freeze_unused

RANK = 8


class LoRA(Tuning):
    """The LoRA of the package adapters, with rank r and alpha 2r (Hu et al. 2021, arXiv 2106.09685).

    Args:
        argument: The rank; 8 without it.

    Raises:
        ConfigError: If it is no whole number from 1 up.
    """

    name: ClassVar[str] = "lora"
    summary: ClassVar[str] = "low-rank updates by the package adapters; lora:16 sets the rank"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=1e-3, head_learning_rate=3e-3, epochs=10, min_steps=1000)
    saved: ClassVar[Saved] = "adapters"
    adds: ClassVar[str] = "LoRA"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        if argument is not None and (not argument.isdecimal() or int(argument) < 1):
            raise ConfigError(
                f"--tuning {self.name} takes a rank from 1 up, got {str(self)!r}; type {self.name}:{RANK}."
            )
        self.rank = RANK if argument is None else int(argument)

    def prepare(self, model: Any, head_name: str) -> Any:
        """Add the updates under the head's name, and let them and the head learn."""
        from adapters import LoRAConfig

        config = LoRAConfig(r=self.rank, alpha=2 * self.rank, leave_out=without(self, model, head_name))
        return add_and_train(model, head_name, config)

    def record(self) -> dict[str, Any]:
        """Which implementation, and its rank."""
        import adapters

        return {"implementation": f"adapters {adapters.__version__}", "rank": self.rank, "alpha": 2 * self.rank}


def without(tuning: Tuning, model: Any, head_name: str) -> list[int]:
    """The blocks that get nothing, from 0.

    Raises:
        ConfigError: If the encoder has no such block, or none is left that the head reads.
    """
    blocks = model.config.num_hidden_layers
    fix = f"type e.g. --leave-out 1-{max(1, blocks // 2)}"
    return check_left_out(tuning.leave_out, model, fix, max(model.heads[head_name].indices))


def add_and_train(model: Any, head_name: str, config: Any) -> Any:
    """Add an adapter under the head's name; it and the head learn, the encoder and other adapters do not."""
    model.add_adapter(head_name, config=config, overwrite_ok=True)
    model.train_adapter(head_name)
    model.active_head = head_name
    freeze_unused(model, head_name)
    return model


class PeftLoRA(LoRA):
    """The LoRA of PEFT, with rank r and alpha 2r, on a `DLFAForTokenClassification` or `DLFAForSequenceClassification`.

    The same method as `lora`; what it saves can be used without the package adapters, and merged into the encoder.
    """

    name: ClassVar[str] = "peft-lora"
    summary: ClassVar[str] = "low-rank updates by PEFT, on plain Transformers classes; peft-lora:16 sets the rank"
    saved: ClassVar[Saved] = "peft"

    def prepare(self, model: Any, head_name: str) -> Any:
        """A plain model with the same head, and the updates on it."""
        from peft import get_peft_model

        from dlfa_adapters.models import lora_config
        from dlfa_adapters.tuning.convert import to_plain

        left_out = without(self, model, head_name)
        plain = to_plain(model, head_name)
        names = [re.escape(name) for name, number in block_names(plain.encoder).items() if number - 1 in left_out]
        options: dict[str, Any] = {"exclude_modules": rf"encoder\.({'|'.join(names)}).*"} if names else {}
        return get_peft_model(plain, lora_config(plain, r=self.rank, **options))

    def record(self) -> dict[str, Any]:
        """Which implementation, and its rank."""
        import peft

        return {"implementation": f"peft {peft.__version__}", "rank": self.rank, "alpha": 2 * self.rank}
