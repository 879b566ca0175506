"""A task adapter over a language adapter."""

from typing import Any, ClassVar

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, freeze_unused
from dlfa_adapters.tuning.bottleneck import CONFIG


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
        model.add_adapter(head_name, config=AdapterConfig.load(CONFIG), overwrite_ok=True)
        model.train_adapter(head_name)  # this one learns; the language adapter does not
        model.set_active_adapters(StackOf(self.language, head_name))
        model.active_head = head_name
        freeze_unused(model, head_name)
        return model

    def record(self) -> dict[str, Any]:
        """The language adapter's name and place."""
        return {"language_adapter": self.language, "location": self.location, "config": CONFIG}
