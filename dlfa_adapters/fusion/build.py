"""Fusions by name: those of the library, and those that a user registers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dlfa_adapters.fusion.base import Fusion, one_of
from dlfa_adapters.fusion.controls import ConcatMLP, OneLayer, ScalarMix
from dlfa_adapters.fusion.dlfa import DLFA

STATES = ("lower_and_last", "lower", "last", "all")
"""What a fusion can take: the fuse layers and the last state, the fuse layers alone, the last state alone, or all."""


@dataclass(frozen=True)
class FusionEntry:
    """What is known of a fusion by its name.

    Attributes:
        make: Builds it; see `register_fusion`.
        states: Which states it is called with, one of `STATES`.
    """

    make: Callable[..., Fusion]
    states: str

    @property
    def takes_layers(self) -> bool:
        """Whether a fuse layer is chosen for it."""
        return self.states.startswith("lower")


def _dlfa(hidden_size: int, *, num_layers: int, num_lower: int, **options: Any) -> Fusion:
    return DLFA(hidden_size, num_lower=num_lower, **options)


def _concat(hidden_size: int, *, num_lower: int, reduction: int | float, **_: Any) -> Fusion:
    return ConcatMLP(hidden_size, reduction, num_lower)


def _scalar_mix(hidden_size: int, *, num_layers: int, **_: Any) -> Fusion:
    return ScalarMix(num_layers + 1)


def _last(hidden_size: int, **_: Any) -> Fusion:
    return OneLayer()


def _layer(hidden_size: int, *, num_lower: int, **_: Any) -> Fusion:
    if num_lower != 1:
        raise ValueError(f'fusion="layer" takes one layer, got {num_lower}; type e.g. fuse_layer=8.')
    return OneLayer()


FUSIONS: dict[str, FusionEntry] = {
    "dlfa": FusionEntry(_dlfa, "lower_and_last"),
    "last": FusionEntry(_last, "last"),
    "layer": FusionEntry(_layer, "lower"),
    "scalar_mix": FusionEntry(_scalar_mix, "all"),
    "concat": FusionEntry(_concat, "lower_and_last"),
}
"""`dlfa`; `last`: the baseline; `layer`: one layer alone; `scalar_mix`: all layers; `concat`: an MLP of equal size."""

_OURS = tuple(FUSIONS)


def register_fusion(
    name: str, make: Callable[..., Fusion], states: str = "lower_and_last", *, overwrite_ok: bool = False
) -> None:
    """Make a fusion known by name, so that `fusion="name"` works wherever a fusion is chosen.

    Whoever loads a head that was saved with it registers it first: the head records the name alone.

    Args:
        name: Lower-case letters, digits, `_` and `-`, a letter first.
        make: Called as `make(hidden_size, num_layers=12, num_lower=1, reduction=4, ...)` with all options of
            `make_fusion`; returns a `Fusion`. A class serves if its constructor takes them, e.g. by `**options`.
        states: Which states it is called with, one of `STATES`; the fuse layers in the order given, the last state
            behind them.
        overwrite_ok: Whether a fusion that was registered under this name before may be replaced.

    Raises:
        ValueError: If the name is bad, taken, or one of the library's own, or there are no such states.
    """
    taken = name in _OURS or (name in FUSIONS and not overwrite_ok)
    if taken or not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise ValueError(
            f"The name of a fusion must be lower-case letters, digits, _ and -, a letter first, and not "
            f"{', '.join(_OURS)}, nor, without overwrite_ok=True, one that was registered; got {name!r}."
        )
    one_of("states", states, STATES)
    FUSIONS[name] = FusionEntry(make, states)


def make_fusion(
    fusion: str,
    hidden_size: int,
    *,
    num_layers: int,
    num_lower: int = 1,
    reduction: int | float = 4,
    branches: str = "both",
    gate: str = "product",
    norm: str = "batch",
    init: str = "kaiming",
    mask_padding: bool = True,
) -> Fusion:
    """Build a fusion by name.

    Args:
        fusion: One of `FUSIONS`.
        hidden_size: Width E of the states.
        num_layers: Number of blocks L of the encoder.
        num_lower: Number of fuse layers.
        reduction: See `AIF`.
        branches: See `AIF`.
        gate: See `DLFA`.
        norm: See `AIF`.
        init: See `AIF`.
        mask_padding: See `AIF`.

    Raises:
        ValueError: If the name is unknown, or an option that this fusion uses has a value that it cannot work with.
    """
    one_of("fusion", fusion, tuple(FUSIONS))
    module = FUSIONS[fusion].make(
        hidden_size,
        num_layers=num_layers,
        num_lower=num_lower,
        reduction=reduction,
        branches=branches,
        gate=gate,
        norm=norm,
        init=init,
        mask_padding=mask_padding,
    )
    if not isinstance(module, Fusion):
        raise ValueError(f"The fusion {fusion!r} must be a dlfa_adapters.fusion.Fusion, its maker gave {module!r}.")
    return module
