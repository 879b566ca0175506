"""Ways of tuning: which parameters learn, and what a run saves. A new one is a class here and an entry in `TUNINGS`."""

import difflib
from collections.abc import Sequence

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tuning.base import Defaults, PartSize, Tuning, frozen_modules, parameter_report, trainable_share
from dlfa_adapters.tuning.bottleneck import Bottleneck, Stack
from dlfa_adapters.tuning.encoder import Features, Freeze, Full
from dlfa_adapters.tuning.lora import LoRA, PeftLoRA

__all__ = [
    "TUNINGS",
    "Defaults",
    "PartSize",
    "Tuning",
    "default_tuning",
    "frozen_modules",
    "get_tuning",
    "parameter_report",
    "trainable_share",
]

TUNINGS: dict[str, type[Tuning]] = {
    tuning.name: tuning for tuning in (Full, Freeze, LoRA, PeftLoRA, Bottleneck, Stack, Features)
}


def get_tuning(tuning: str, leave_out: Sequence[int] | None = None) -> Tuning:
    """The tuning of a name such as `full`, `freeze:6`, `lora:16`, `stack:adapters/en`.

    Args:
        tuning: The name.
        leave_out: Blocks, from 1, to which it adds nothing.

    Raises:
        ConfigError: If there is none of that name, the argument behind the colon is wrong, or blocks are left out of a
            tuning that adds nothing to any.
    """
    name, colon, argument = tuning.partition(":")
    if name not in TUNINGS:
        close = difflib.get_close_matches(name, TUNINGS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ConfigError(f"There is no tuning {name!r}; there are {', '.join(TUNINGS)}{hint}")
    method = TUNINGS[name](argument if colon else None)
    if leave_out and not method.adds:
        able = ", ".join(other for other, each in TUNINGS.items() if each.adds)
        raise ConfigError(
            f"--leave-out names blocks without LoRA or adapters, and --tuning {method} adds none to any; leave it out, "
            f"or type one of {able}."
        )
    method.leave_out = tuple(leave_out or ())
    return method


def default_tuning() -> str:
    """`lora` where there is a GPU, `features` where there is none."""
    import torch

    return LoRA.name if torch.cuda.is_available() else Features.name
