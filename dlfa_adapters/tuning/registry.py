"""The tunings by name. A new one is a file beside these and an entry here."""

import difflib

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Tuning
from dlfa_adapters.tuning.bottleneck import Bottleneck
from dlfa_adapters.tuning.features import Features
from dlfa_adapters.tuning.freeze import Freeze
from dlfa_adapters.tuning.full import Full
from dlfa_adapters.tuning.lora import LoRA
from dlfa_adapters.tuning.peft_lora import PeftLoRA
from dlfa_adapters.tuning.stack import Stack

TUNINGS: dict[str, type[Tuning]] = {
    tuning.name: tuning for tuning in (Full, Freeze, LoRA, PeftLoRA, Bottleneck, Stack, Features)
}


def get_tuning(tuning: str) -> Tuning:
    """The tuning of a name such as `full`, `freeze:6`, `lora:16`, `stack:adapters/en`.

    Raises:
        ConfigError: If there is none of that name, or the argument behind the colon is wrong.
    """
    name, colon, argument = tuning.partition(":")
    if name not in TUNINGS:
        close = difflib.get_close_matches(name, TUNINGS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ConfigError(f"There is no tuning {name!r}; there are {', '.join(TUNINGS)}{hint}")
    return TUNINGS[name](argument if colon else None)


def default_tuning() -> str:
    """`lora` where there is a GPU, `features` where there is none."""
    import torch

    return LoRA.name if torch.cuda.is_available() else Features.name
