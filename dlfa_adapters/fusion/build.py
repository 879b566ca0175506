"""Fusions by name, those of the library and those that a user registers, and which hidden states they take.

Layer k is `hidden_states[k]`: 0 the embeddings, 1..L the outputs of blocks. What a fusion computes is loaded on first
use, so that names and options can be looked at without PyTorch.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from dlfa_adapters.fusion.options import DLFAOptions, Option, check_values, flat, no_such_option, one_of, options_of

if TYPE_CHECKING:
    from torch import Tensor

    from dlfa_adapters.fusion.base import Fusion, Weights

FuseLayer = int | tuple[int, ...]

STATES = ("lower_and_last", "lower", "last", "all")
"""What a fusion can take: the fuse layers and the last state, the fuse layers alone, the last state alone, or all."""

Stacked = Callable[[Any, "Weights", "Sequence[Tensor]", Any], "Tensor"]
"""A fusion for many heads at once, see `Weights`: of options, weights, states, and a batch without padding."""


@dataclass(frozen=True)
class FusionEntry:
    """What is known of a fusion by its name.

    Attributes:
        make: Builds it; see `register_fusion`.
        states: Which states it is called with, one of `STATES`.
        options: The dataclass of its options.
        stacked: Of options, the equations of many heads that have these; None: each is trained as the module it is.
    """

    make: "Callable[..., Fusion]"
    states: str
    options: type = DLFAOptions
    stacked: "Callable[[Any], Stacked | None]" = lambda options: None

    @property
    def takes_layers(self) -> bool:
        """Whether a fuse layer is chosen for it."""
        return self.states.startswith("lower")


def _dlfa(hidden_size: int, *, num_layers: int, num_lower: int, **options: Any) -> "Fusion":
    from dlfa_adapters.fusion.dlfa import DLFA

    return DLFA(hidden_size, num_lower=num_lower, **options)


def _concat(hidden_size: int, *, num_lower: int, reduction: int | float, **_: Any) -> "Fusion":
    from dlfa_adapters.fusion.controls import ConcatMLP

    return ConcatMLP(hidden_size, reduction, num_lower)


def _scalar_mix(hidden_size: int, *, num_layers: int, **_: Any) -> "Fusion":
    from dlfa_adapters.fusion.controls import ScalarMix

    return ScalarMix(num_layers + 1)


def _last(hidden_size: int, **_: Any) -> "Fusion":
    from dlfa_adapters.fusion.controls import OneLayer

    return OneLayer()


def _layer(hidden_size: int, *, num_lower: int, **_: Any) -> "Fusion":
    if num_lower != 1:
        raise ValueError(f'fusion="layer" takes one layer, got {num_lower}; type e.g. fuse_layer=8.')
    return _last(hidden_size)


def _stacked(module: str, name: str, *, reads_padding: bool = False) -> Callable[[Any], Stacked | None]:
    """The function of that name in a module of `fusion`; a stack has no padding, so none where that shall be read."""

    def get(options: Any) -> Stacked | None:
        from importlib import import_module

        function: Stacked = getattr(import_module(f"dlfa_adapters.fusion.{module}"), name)
        return function if options.mask_padding or not reads_padding else None

    return get


FUSIONS: dict[str, FusionEntry] = {
    "dlfa": FusionEntry(_dlfa, "lower_and_last", stacked=_stacked("dlfa", "stacked_dlfa", reads_padding=True)),
    "last": FusionEntry(_last, "last", stacked=_stacked("controls", "stacked_layer")),
    "layer": FusionEntry(_layer, "lower", stacked=_stacked("controls", "stacked_layer")),
    "scalar_mix": FusionEntry(_scalar_mix, "all", stacked=_stacked("controls", "stacked_mix")),
    "concat": FusionEntry(_concat, "lower_and_last", stacked=_stacked("controls", "stacked_concat")),
}
"""`dlfa`; `last`: the baseline; `layer`: one layer alone; `scalar_mix`: all layers; `concat`: an MLP of equal size."""

_OURS = tuple(FUSIONS)


def register_fusion(
    name: str,
    make: "Callable[..., Fusion]",
    states: str = "lower_and_last",
    *,
    options: type = DLFAOptions,
    stacked: "Callable[[Any], Stacked | None]" = lambda options: None,
    overwrite_ok: bool = False,
) -> None:
    """Make a fusion known by name, so that `fusion="name"` works wherever a fusion is chosen.

    Whoever loads a head that was saved with it registers it first: the head records name and options alone.

    Args:
        name: Lower-case letters, digits, `_` and `-`, a letter first.
        make: Called as `make(hidden_size, num_layers=12, num_lower=1, **options)` with the value of every option;
            returns a `Fusion`. A class serves if its constructor takes them.
        states: Which states it is called with, one of `STATES`; the fuse layers in the order given, the last state
            behind them.
        options: A frozen dataclass of its options: each with a default, numbers, words (`Literal`), texts or `bool`.
            What its docstring says under `Attributes:` is their help on the command line. Default: those of DLFA.
        stacked: Gives for options the equations of many heads at once, see `Weights`, or None, as by default: heads
            with it are then trained on frozen states as the modules that they are, beside the others.
        overwrite_ok: Whether a fusion that was registered under this name before may be replaced.

    Raises:
        ValueError: If the name is bad, taken, or one of the library's own, there are no such states, or the options
            are no dataclass with defaults.
    """
    taken = name in _OURS or (name in FUSIONS and not overwrite_ok)
    if taken or not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise ValueError(
            f"The name of a fusion must be lower-case letters, digits, _ and -, a letter first, and not "
            f"{', '.join(_OURS)}, nor, without overwrite_ok=True, one that was registered; got {name!r}."
        )
    one_of("states", states, STATES)
    try:
        options()
        options_of(options)
    except TypeError as error:
        raise ValueError(
            f"options must be a dataclass whose fields have defaults, got {options!r} ({error})."
        ) from None
    FUSIONS[name] = FusionEntry(make, states, options, stacked)


def options_of_fusion(fusion: str) -> dict[str, Option]:
    """The options that a fusion has, by name.

    Raises:
        ValueError: If there is no such fusion.
    """
    if fusion not in tuple(FUSIONS):
        raise ValueError(
            f"fusion must be one of {', '.join(FUSIONS)}; got {fusion!r}. One of your own is among them when the "
            "module that calls register_fusion has been imported."
        )
    return options_of(FUSIONS[fusion].options)


def fusion_options(fusion: str, **options: Any) -> Any:
    """The options of a fusion, from values by name; what is left out has its default.

    Raises:
        ValueError: If there is no such fusion or option, or it cannot have that value.
    """
    known = options_of_fusion(fusion)
    for name in options:
        if name not in known:
            raise ValueError(no_such_option(f"The fusion {fusion!r} has no", name, known))
    cls = FUSIONS[fusion].options
    check_values(cls, options)
    return cls(**options)


def make_fusion(fusion: str, hidden_size: int, *, num_layers: int, num_lower: int = 1, **options: Any) -> "Fusion":
    """Build a fusion by name.

    Args:
        fusion: One of `FUSIONS`.
        hidden_size: Width E of the states.
        num_layers: Number of blocks L of the encoder.
        num_lower: Number of fuse layers.
        **options: Its options, see `DLFAOptions`.

    Raises:
        ValueError: If the name is unknown, or an option that this fusion uses has a value that it cannot work with.
    """
    from dlfa_adapters.fusion.base import Fusion

    values = flat(fusion_options(fusion, **options))
    module = FUSIONS[fusion].make(hidden_size, num_layers=num_layers, num_lower=num_lower, **values)
    if not isinstance(module, Fusion):
        raise ValueError(f"The fusion {fusion!r} must be a dlfa_adapters.fusion.Fusion, its maker gave {module!r}.")
    return module


def check_fuse_layer(fuse_layer: object, num_layers: int) -> tuple[int, ...]:
    """The fuse layers as a tuple, after checking that the encoder has them.

    Args:
        fuse_layer: A layer 0..L, or a tuple or list of distinct ones, fused one after the other. Integers of NumPy
            count as such.
        num_layers: Number of blocks L.

    Returns:
        The layers in the order given, as plain ints, which JSON can store.

    Raises:
        ValueError: If it is not an int or a tuple of ints (bool counts as neither), or out of range.
    """
    layers = tuple(fuse_layer) if isinstance(fuse_layer, (tuple, list)) else (fuse_layer,)
    numbers = [int(k) for k in layers if isinstance(k, Integral) and not isinstance(k, bool)]
    if len(numbers) != len(layers) or not layers:
        raise ValueError(
            f"fuse_layer must be a layer number 0..{num_layers}, or a tuple of them, got {fuse_layer!r}; "
            f"type e.g. fuse_layer={max(1, round(8 * num_layers / 12))}."
        )
    outside = [k for k in numbers if not 0 <= k <= num_layers]
    if outside:
        raise ValueError(
            f"fuse_layer must lie in 0..{num_layers} (0 the embeddings, {num_layers} the last block of this encoder), "
            f"got {outside[0]}."
        )
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"fuse_layer names a layer twice: {fuse_layer!r}; type each layer once.")
    return tuple(numbers)


def state_indices(fusion: str, fuse_layer: tuple[int, ...], num_layers: int) -> tuple[int, ...]:
    """The states that a fusion takes, in calling order; `num_layers`, L, stands for the last hidden state.

    The fuse layers are checked ones, () where the fusion takes none.
    """
    states = FUSIONS[fusion].states
    if states == "all":
        return tuple(range(num_layers + 1))
    lower = fuse_layer if states.startswith("lower") else ()
    return lower if states == "lower" else (*lower, num_layers)
