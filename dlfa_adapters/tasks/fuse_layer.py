"""The fuse layer: the default of a task, and the check against the depth of an encoder."""

import logging
from typing import Any

from dlfa_adapters.fusion import FUSIONS, check_fuse_layer
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks import Task

logger = logging.getLogger(__name__)


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
    try:
        layers = check_fuse_layer(fuse_layer, num_layers)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if fusion == "dlfa" and num_layers in layers:
        logger.info("The last layer is fused with itself: the control D_%d.", num_layers)
    return layers
