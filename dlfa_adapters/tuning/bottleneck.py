"""Bottleneck adapters: small layers between those of the frozen encoder; alone, over those of a language, or of one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.schema import check_head_name
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, check_left_out
from dlfa_adapters.tuning.lora import add_and_train, without

if TYPE_CHECKING:
    from dlfa_adapters.heads.decoder import Decoder

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
    adds: ClassVar[str] = "adapters"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        self.config = argument or CONFIG
        if self.config not in CONFIGS:
            raise ConfigError(f"--tuning bottleneck takes one of {', '.join(CONFIGS)}, got {str(self)!r}.")

    def prepare(self, model: Any, head_name: str) -> Any:
        """Add the adapter under the head's name, and let it and the head learn."""
        from adapters.configuration import AdapterConfig

        config = AdapterConfig.load(self.config, leave_out=without(self, model, head_name))
        return add_and_train(model, head_name, config)

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


class Stack(Tuning):
    """MAD-X: a task adapter learns over a frozen adapter of the source language (Pfeiffer et al. 2020, 2005.00052).

    To use the task in another language, that language's adapter takes the place of the source's; head, labels and fuse
    layer stay.

    Args:
        argument: Where the source language's adapter is: a folder, or a name on the hub; see `load_language_adapter`.

    Raises:
        ConfigError: If it is missing.
    """

    name: ClassVar[str] = "stack"
    summary: ClassVar[str] = "stack:FOLDER trains a task adapter over the language adapter in FOLDER"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=5e-4, head_learning_rate=3e-3, epochs=10)
    saved: ClassVar[Saved] = "adapters"
    adds: ClassVar[str] = "adapters"

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        if not argument:
            raise ConfigError(
                "--tuning stack needs the adapter of the source language; type e.g. --tuning stack:adapters/en."
            )
        self.location = argument
        self.language: str | None = None

    def prepare(self, model: Any, head_name: str) -> Any:
        """Load the language adapter, add a task adapter over it, and let that and the head learn."""
        from adapters import AdapterConfig
        from adapters.composition import Stack as StackOf

        self.language = str(model.load_language_adapter(self.location))
        if self.language == head_name:
            raise ConfigError(
                f"The language adapter and the task are both called {head_name!r}; save the adapter under its language."
            )
        config = AdapterConfig.load(CONFIG, leave_out=without(self, model, head_name))
        add_and_train(model, head_name, config)
        model.set_active_adapters(StackOf(self.language, head_name))
        return model

    def record(self) -> dict[str, Any]:
        """The language adapter's name and place."""
        return {"language_adapter": self.language, "location": self.location, "config": CONFIG}


class LanguageTuning(Tuning):
    """Adds an adapter for a language, and a decoder; both learn, the encoder does not (MAD-X, arXiv 2005.00052).

    Args:
        language: Name of the adapter, e.g. `de`.
        config: A name of `bottleneck.LANGUAGE_CONFIGS`.
        reduction: The width of the bottlenecks is the encoder's divided by this; 2 in MAD-X.
        leave_out: Blocks that get none, from 1. MAD-X 2.0 (Pfeiffer et al. 2021, arXiv 2012.15562) leaves out the last.
        decoder: The checkpoint's own; None for a new one.

    Raises:
        ConfigError: If the language cannot be the name of an adapter, or an option has a value that cannot work.
    """

    name: ClassVar[str] = "language"
    summary: ClassVar[str] = "a language adapter by masked language modelling"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=5e-4, head_learning_rate=3e-3, epochs=1)
    saved: ClassVar[Saved] = "adapters"

    def __init__(
        self,
        language: str,
        config: str = "seq_bn_inv",
        reduction: float = 2,
        leave_out: Sequence[int] = (),
        decoder: "Decoder | None" = None,
    ) -> None:
        super().__init__(check_head_name(language, "language adapter"))
        check_language_config(config, reduction)
        self.language, self.config, self.reduction, self.decoder = language, config, reduction, decoder
        self.leave_out = tuple(sorted(set(leave_out)))

    def prepare(self, model: Any, head_name: str) -> Any:
        """Add adapter and decoder, and let them learn.

        Other heads go, such as the one that adapters makes of a checkpoint's decoder: each checkpoint would hold them.

        Raises:
            ConfigError: If there is no such block, or none is left.
        """
        from adapters.configuration import AdapterConfig

        from dlfa_adapters.heads.decoder import add_decoder

        fix = f"type {model.config.num_hidden_layers} to leave out the last, as MAD-X 2.0 does"
        left_out = check_left_out(self.leave_out, model, fix)
        config = AdapterConfig.load(self.config, reduction_factor=self.reduction, leave_out=left_out)
        model.add_adapter(self.language, config=config, overwrite_ok=True)
        for other in list(model.heads):
            model.delete_head(other)
        add_decoder(model, head_name, self.decoder)
        model.train_adapter(self.language)
        model.active_head = head_name
        return model

    def record(self) -> dict[str, Any]:
        """The adapter's options, and where the decoder comes from."""
        return {
            "config": self.config,
            "reduction": self.reduction,
            "leave_out": list(self.leave_out),
            "decoder": "new" if self.decoder is None else "the checkpoint's",
        }
