"""Bottleneck adapters: small layers between those of the frozen encoder."""

from typing import Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning
from dlfa_adapters.tuning.lora import add_and_train

CONFIG = "seq_bn"
CONFIGS = ("seq_bn", "double_seq_bn", "par_bn", "scaled_par_bn", "compacter", "compacter++")
"""Names of adapters for bottlenecks; `seq_bn_inv` and its like have an invertible part, which is for languages."""

LANGUAGE_CONFIGS = ("seq_bn_inv", "seq_bn", "double_seq_bn_inv", "double_seq_bn")
"""Names of adapters for bottlenecks that can stand under another adapter; those with `inv` have an invertible part."""


class Bottleneck(Tuning):
    """Bottleneck adapters, `seq_bn` by default (Pfeiffer et al. 2020, arXiv 2005.00052).

    Args:
        argument: A name of `CONFIGS`.

    Raises:
        ConfigError: If it is none of them.
    """

    name: ClassVar[str] = "bottleneck"
    summary: ClassVar[str] = f"small layers in the frozen encoder; bottleneck:NAME with {', '.join(CONFIGS)}"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=5e-4, head_learning_rate=3e-3, epochs=10)
    saved: ClassVar[Saved] = "adapters"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self.config = argument or CONFIG
        if self.config not in CONFIGS:
            raise ConfigError(f"--tuning bottleneck takes one of {', '.join(CONFIGS)}, got {str(self)!r}.")

    def prepare(self, model: Any, head_name: str) -> Any:
        """Add the adapter under the head's name, and let it and the head learn."""
        from adapters.configuration import AdapterConfig

        return add_and_train(model, head_name, AdapterConfig.load(self.config))

    def record(self) -> dict[str, Any]:
        """The configuration's name."""
        return {"config": self.config}


def check_language_config(config: str, reduction: float) -> None:
    """Refuse a form that a language adapter cannot have.

    Raises:
        ConfigError: If it is none of `LANGUAGE_CONFIGS`, or the reduction is not above 0.
    """
    if config not in LANGUAGE_CONFIGS:
        raise ConfigError(f"config must be one of {', '.join(LANGUAGE_CONFIGS)}; got {config!r}.")
    if not reduction > 0:
        raise ConfigError(f"reduction must be a number above 0, got {reduction!r}; type 2, as MAD-X has it.")
