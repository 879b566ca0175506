"""The options of a head, and its fuse layer: the default of a task, and the check against the depth of an encoder."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dlfa_adapters.fusion.build import FUSIONS, check_fuse_layer, fusion_options, options_of_fusion, state_indices
from dlfa_adapters.fusion.options import (
    FIRST_WEIGHTS,
    DLFAOptions,
    Option,
    check_values,
    flat,
    no_such_option,
    options_of,
    recorded,
)
from dlfa_adapters.ground.errors import ConfigError, as_config_error
from dlfa_adapters.tasks import Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Which head: a fusion of layers, and what stands on it.

    Attributes:
        fusion: What is fused: `dlfa`; or a control: `last` (no fusion), `layer` (one alone), `scalar_mix`, `concat`.
        fuse_layer: Layer to fuse with the last one, several times for several; `auto`: chosen before the training.
            Default: the task's.
        fusion_options: The options of the fusion.
        pooling: Piece that carries a word's label, or token that stands for a text.
        classifier: `linear`, or `bilstm`: a two-layer LSTM above the fusion.
        lstm_hidden: bilstm: units in each direction.
        lstm_dropout: bilstm: dropout between layers.
    """

    fusion: str = "dlfa"
    fuse_layer: tuple[int, ...] | Literal["auto"] | None = None
    fusion_options: Any = field(default_factory=DLFAOptions)
    pooling: Literal["first", "last", "mean"] = "first"
    classifier: Literal["linear", "bilstm"] = "linear"
    lstm_hidden: int = 256
    lstm_dropout: float = 0.1

    @classmethod
    def known(cls, fusion: str = "dlfa") -> dict[str, Option]:
        """All options by name, those of a fusion in place of `fusion_options`.

        Raises:
            ConfigError: If there is no such fusion, or one of its options has a name that every head has.
        """
        with as_config_error():
            own = options_of_fusion(fusion)
        every = dict(options_of(cls))
        first = {name: every.pop(name) for name in ("fusion", "fuse_layer")}
        del every["fusion_options"]
        if both := sorted(own.keys() & {*first, *every}):
            raise ConfigError(f"The fusion {fusion!r} has an option {both[0]!r}, as every head has; rename it.")
        return {**first, **own, **every}

    @property
    def layers(self) -> tuple[int, ...]:
        """The fuse layers; () where there are none, or they are still to be chosen."""
        return self.fuse_layer if isinstance(self.fuse_layer, tuple) else ()

    @property
    def architecture(self) -> tuple[object, ...]:
        """What heads share that can be computed as one: all of the fusion but first weights and which layers."""
        known = options_of(type(self.fusion_options))
        own = [value for name, value in flat(self.fusion_options).items() if known[name].metadata != FIRST_WEIGHTS]
        return (self.fusion, *own, len(self.layers))

    def states(self, num_layers: int) -> tuple[int, ...]:
        """Which states the fusion takes, in calling order; `num_layers` stands for the last."""
        return state_indices(self.fusion, self.layers, num_layers)

    def changed(self, **options: Any) -> "HeadOptions":
        """The same with other values of some options, by name; those of another fusion are at their defaults.

        Raises:
            ConfigError: If there is no such option, or it cannot have that value.
        """
        fusion = options.get("fusion", self.fusion)
        known, own_names = self.known(fusion), options_of_fusion(fusion)
        for name in options:
            if name not in known:
                raise ConfigError(no_such_option(f"A head with fusion={fusion!r} has no", name, known))
        if isinstance(layer := options.get("fuse_layer"), int) and not isinstance(layer, bool):
            options["fuse_layer"] = (layer,)
        elif isinstance(layer, list):
            options["fuse_layer"] = tuple(layer)
        own = {name: options.pop(name) for name in own_names if name in options}
        if type(self.fusion_options) is FUSIONS[fusion].options:
            own = {**flat(self.fusion_options), **own}
        with as_config_error():
            check_values(HeadOptions, {name: value for name, value in options.items() if name != "fuse_layer"})
            return replace(self, **options, fusion_options=fusion_options(fusion, **own))

    def keywords(self) -> dict[str, Any]:
        """Every option by name, as `changed` and `add_dlfa_head` take them."""
        every = flat(self)
        first = {"fusion": every.pop("fusion"), "fuse_layer": every.pop("fuse_layer") or None}
        return {**first, **flat(every.pop("fusion_options")), **every}

    def recorded(self) -> dict[str, Any]:
        """The same for a record: without what earlier versions had not, where it is at its default."""
        every, own = self.keywords(), recorded(self.fusion_options)
        return {name: value for name, value in every.items() if name in own or not hasattr(self.fusion_options, name)}


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of a head with the fusion that they name, and the others.

    Raises:
        ConfigError: If there is no such fusion.
    """
    known = HeadOptions.known(options.get("fusion", "dlfa"))
    own = {name: value for name, value in options.items() if name in known}
    return own, {name: value for name, value in options.items() if name not in known}


def takes_layers(fusion: str) -> bool:
    """Whether a fuse layer is chosen for a fusion; of an unknown name it is taken for granted."""
    return fusion not in FUSIONS or FUSIONS[fusion].takes_layers


def resolve_fuse_layer(task: Task | None, fuse_layer: Any, fusion: str, num_layers: int) -> Any:
    """The given fuse layer, or the default: the paper's for its tasks, two thirds of the depth for others.

    Raises:
        ConfigError: If there is no lower layer to fuse, or it shall be chosen.
    """
    if fuse_layer == "auto":
        raise ConfigError(
            'fuse_layer="auto" needs data to choose by; type train(..., fuse_layer="auto"), or give a head its layer.'
        )
    if fuse_layer is not None or not takes_layers(fusion):
        return fuse_layer
    layer = (task or Task(name="", kind="tagging", labels=(), metric="")).default_fuse_layer(num_layers)
    if layer is None:
        raise ConfigError("This encoder has a single layer, so there is no lower one to fuse; type fuse_layer=0 or 1.")
    logger.info("Fusing layer %d of %d, the default; fuse_layer= sets another.", layer, num_layers)
    return layer


def checked_fuse_layer(fusion: str, fuse_layer: Any, num_layers: int) -> tuple[int, ...]:
    """The fuse layers as a tuple, () for the fusions that take none.

    Raises:
        ConfigError: If the encoder does not have them, or the fusion takes none and some are given.
    """
    if not takes_layers(fusion):
        if fuse_layer is not None:
            raise ConfigError(f"fusion={fusion!r} takes no fuse_layer, got {fuse_layer!r}; leave it out.")
        return ()
    with as_config_error():
        layers = check_fuse_layer(fuse_layer, num_layers)
    if fusion == "dlfa" and num_layers in layers:
        logger.info("The last layer is fused with itself: the control D_%d.", num_layers)
    return layers
