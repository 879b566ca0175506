"""Double Layer Feature Aggregation: equation (4) of the paper, for one lower layer or several."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from dlfa_adapters.fusion.aif import AIF, stacked_attention
from dlfa_adapters.fusion.base import Fusion, Weights, check_count, check_sizes
from dlfa_adapters.fusion.options import DLFAOptions, check_values


class DLFA(Fusion):
    r"""Double Layer Feature Aggregation (Chen et al. 2022, arXiv 2205.08497, equation (4)).

    $$W = (L_1 + L_2) / 2, \qquad L = L_1 \odot \mathrm{AIF}(W) + L_2 \odot (1 - \mathrm{AIF}(W))\quad(4)$$

    $L_1$ is the state of a lower layer, $L_2$ the last hidden state, all (batch, seq, width).

    With several lower layers the last state is fused with the first of them, the result with the second, and so on;
    each step has an AIF of its own. `reduction`, `branches`, `norm`, `init` and `mask_padding` are those of `AIF`.

    Args:
        hidden_size: Width E of the states.
        gate: What weights $L_1$ in (4). `product` is AIF(W) as printed, which is not bounded: it multiplies features,
            so where those are in the hundreds float16 overflows (bfloat16 does not). `attention` is its sigmoid alone,
            in 0..1 (the form of Dai et al. 2021, "Attentional Feature Fusion", arXiv 2009.14082).
        num_lower: How many lower layers are fused, one after the other (more than one: not in the paper).

    Raises:
        ValueError: If an option has a value that is not listed, E / r is below 1, or there is no lower layer.
    """

    def __init__(
        self,
        hidden_size: int,
        reduction: int | float = 4,
        branches: str = "both",
        gate: str = "product",
        norm: str = "batch",
        init: str = "kaiming",
        mask_padding: bool = True,
        num_lower: int = 1,
    ) -> None:
        super().__init__()
        check_values(DLFAOptions, {"gate": gate})
        check_sizes(hidden_size, reduction, num_lower)
        self.gate = gate
        self.aif = nn.ModuleList(
            AIF(hidden_size, reduction, branches, norm, init, mask_padding) for _ in range(num_lower)
        )

    def forward(
        self,
        *states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Fuse `dlfa(lower, upper, attention_mask=mask)`, or `dlfa(lower_1, lower_2, ..., upper)`."""
        check_count("DLFA", states, len(self.aif) + 1)
        *lowers, fused = states
        for lower, aif in zip(lowers, self.aif, strict=True):
            assert isinstance(aif, AIF)
            w = (lower + fused) / 2
            weight = aif(w, attention_mask) if self.gate == "product" else aif.attention(w, attention_mask)
            fused = torch.addcmul(fused, weight, lower - fused)  # (4), with one multiplication less
        return fused

    def reset_parameters(self) -> None:
        """Draw the weights of every AIF anew."""
        for aif in self.aif:
            assert isinstance(aif, AIF)
            aif.reset_parameters()


def stacked_dlfa(options: Any, weights: Weights, states: Sequence[Tensor], batch: Any) -> Tensor:
    """Equation (4), once for each lower state, of many heads at once; see `Weights`."""
    *lowers, fused = states
    for step, lower in enumerate(lowers):
        w = (lower + fused) / 2
        attention = stacked_attention(options.branches, options.norm, weights.inside(f"aif.{step}"), w, batch)
        weight = w * attention if options.gate == "product" else attention
        fused = fused + weight * (lower - fused)
    return fused
