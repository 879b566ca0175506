"""Fusions by name."""

from dlfa_adapters.fusion.base import Fusion, one_of
from dlfa_adapters.fusion.controls import ConcatMLP, OneLayer, ScalarMix
from dlfa_adapters.fusion.dlfa import DLFA

FUSIONS = ("dlfa", "last", "layer", "scalar_mix", "concat")
"""`dlfa`; `last`: the baseline; `layer`: one layer alone; `scalar_mix`: all layers; `concat`: an MLP of equal size."""


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
    one_of("fusion", fusion, FUSIONS)
    if fusion == "dlfa":
        return DLFA(hidden_size, reduction, branches, gate, norm, init, mask_padding, num_lower)
    if fusion == "concat":
        return ConcatMLP(hidden_size, reduction, num_lower)
    if fusion == "scalar_mix":
        return ScalarMix(num_layers + 1)
    if fusion == "layer" and num_lower != 1:
        raise ValueError(f'fusion="layer" takes one layer, got {num_lower}; type e.g. fuse_layer=8.')
    return OneLayer()
