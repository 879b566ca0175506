"""Attentional Information Fusion: equations (1) to (3) of the DLFA paper."""

import math
from typing import Any, cast

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn import functional

from dlfa_adapters.fusion.base import Weights, as_bool, check_mask, check_sizes, in_dtype, linear, wide_dtype
from dlfa_adapters.fusion.norm import EPS, MOMENTUM, NORMS
from dlfa_adapters.fusion.options import DLFAOptions, check_values

BRANCHES = {"both": (True, False), "global": (True, True), "local": (False, False)}
"""Which of the two branches see the mean over the tokens."""

_IDENTITY_GATE = 0.01  # init="identity": where sigmoid(...) starts


class Branch(nn.Module):
    r"""One branch of the attention: $\mathrm{BN}(C_2(\mathrm{ReLU}(\mathrm{BN}(C_1(W)))))$, (1) or (2) of the paper.

    $C_1$ maps `width` channels to `width / reduction`, $C_2$ back: 1x1 convolutions, linear maps of each position.

    Args:
        width: Number of channels E.
        reduction: r; the inner width is max(1, round(E / r)).
        pooled: Whether the branch is a global one and sees the mean over the real tokens.
        norm: `batch`, `layer` or `none`.
        mask_padding: Whether padding is left out of the mean and of the batch statistics.
    """

    def __init__(self, width: int, *, reduction: int | float, pooled: bool, norm: str, mask_padding: bool) -> None:
        super().__init__()
        inner = max(1, round(width / reduction))
        self.pooled, self.mask_padding = pooled, mask_padding
        self.conv1 = nn.Linear(width, inner)
        self.norm1 = NORMS[norm](inner)
        self.conv2 = nn.Linear(inner, width)
        self.norm2 = NORMS[norm](width)

    def forward(
        self, w: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq_or_1 width"]:
        """Scores before the sigmoid: (batch, 1, width) for a global branch, (batch, seq, width) for a local one."""
        mask = attention_mask if self.mask_padding else None
        if self.pooled:
            w, mask = mean_over_tokens(w, mask)
        return self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(w), mask))), mask)

    @property
    def shift(self) -> nn.Parameter:
        """What is added last: the shift of the last norm, or the bias of the last map where there is no norm."""
        return cast(nn.Parameter, self.norm2.bias if hasattr(self.norm2, "bias") else self.conv2.bias)


def mean_over_tokens(
    x: Float[Tensor, "batch seq width"], mask: Shaped[Tensor, "batch seq"] | None
) -> tuple[Float[Tensor, "batch 1 width"], Shaped[Tensor, "batch 1"] | None]:
    """The mean over the real tokens, and which sentences have one at all (a row of padding has mean 0)."""
    if mask is None:
        return x.mean(1, keepdim=True), None
    wide = in_dtype(x, wide_dtype(x.dtype))  # a long sum in 16 bits loses its small terms
    real = as_bool(mask).unsqueeze(-1)
    count = real.sum(1, keepdim=True)
    mean = torch.where(real, wide, 0).sum(1, keepdim=True) / count.clamp(min=1)
    return in_dtype(mean, x.dtype), count.squeeze(-1) > 0


class AIF(nn.Module):
    r"""Attentional Information Fusion (Chen et al. 2022, arXiv 2205.08497, equations (1) to (3)).

    $$W_{Global} = \mathrm{BN}(C_{G2}(\mathrm{ReLU}(\mathrm{BN}(C_{G1}(\mathrm{Pool}(W))))))\quad(1)$$

    $$W_{Local} = \mathrm{BN}(C_{L2}(\mathrm{ReLU}(\mathrm{BN}(C_{L1}(W)))))\quad(2)$$

    $$\mathrm{AIF}(W) = W \odot \sigma(W_{Global} + W_{Local})\quad(3)$$

    Args:
        hidden_size: Width E of the states.
        reduction: r, the factor by which the inner width is smaller.
        branches: `both`; `global` or `local` replace the other branch by a second one of the same kind, as in the
            ablation of the paper (Fig. 4).
        norm: What BN is: `batch` (over real tokens), `layer`, or `none`.
        init: `kaiming`, or `identity`: the last shift of each branch starts where $\sigma(\cdot)$ is 0.01, so that
            training starts close to the plain upper layer.
        mask_padding: Whether padding is left out of Pool and BN.

    Raises:
        ValueError: If an option has a value that is not listed above, or E / r is below 1.

    !!! note "Deviations from the paper"
        The paper states r = 4 and Kaiming initialisation, and leaves bias, the kind of Kaiming initialisation and
        padding open. Here the maps have a bias, weights are Kaiming-normal, biases zero, and padding is left out.
    """

    def __init__(
        self,
        hidden_size: int,
        reduction: int | float = 4,
        branches: str = "both",
        norm: str = "batch",
        init: str = "kaiming",
        mask_padding: bool = True,
    ) -> None:
        super().__init__()
        options = {"branches": branches, "norm": norm, "init": init, "mask_padding": mask_padding}
        check_values(DLFAOptions, options)
        check_sizes(hidden_size, reduction)
        self.hidden_size, self.init = hidden_size, init
        self.branches = nn.ModuleList(
            Branch(hidden_size, reduction=reduction, pooled=pooled, norm=norm, mask_padding=mask_padding)
            for pooled in BRANCHES[branches]
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew, as `init` says, and start the norms again."""
        for branch in self.branches:
            assert isinstance(branch, Branch)
            for conv, norm in ((branch.conv1, branch.norm1), (branch.conv2, branch.norm2)):
                nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
                nn.init.zeros_(conv.bias)
                norm.reset_parameters()
            if self.init == "identity":
                nn.init.constant_(branch.shift, math.log(_IDENTITY_GATE / (1 - _IDENTITY_GATE)) / 2)

    def attention(
        self, w: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq width"]:
        r"""$\sigma(W_{Global} + W_{Local})$, in 0..1: the weight of the lower layer when `gate="attention"`."""
        check_mask(attention_mask, w.shape[:2])
        mask = None if attention_mask is None else as_bool(attention_mask)  # once, for all that look at it
        first, second = (branch(w, mask) for branch in self.branches)
        return torch.sigmoid(first + second).expand_as(w)

    def forward(
        self, w: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq width"]:
        r"""Equation (3).

        Args:
            w: The mean W of the two layers, (batch, seq, width).
            attention_mask: Non-zero at real tokens, (batch, seq). Without it all are.

        Returns:
            $W \odot \sigma(W_{Global} + W_{Local})$, (batch, seq, width).
        """
        return w * self.attention(w, attention_mask)


def stacked_attention(branches: str, norm: str, weights: Weights, w: Tensor, batch: Any) -> Tensor:
    """`AIF.attention` of many heads at once, see `Weights`."""
    first, second = (
        _stacked_branch(norm, weights.inside(f"branches.{i}"), w, batch if pooled else None)
        for i, pooled in enumerate(BRANCHES[branches])
    )
    return torch.sigmoid(first + second)


def _stacked_branch(norm: str, weights: Weights, w: Tensor, pooled: Any) -> Tensor:
    """Equation (1), with a batch whose windows are averaged, or (2)."""
    x = w if pooled is None else w @ pooled.mean
    x = _stacked_norm(norm, weights.inside("norm1"), linear(weights.inside("conv1"), x))
    x = _stacked_norm(norm, weights.inside("norm2"), linear(weights.inside("conv2"), torch.relu(x)))
    return x if pooled is None else x @ pooled.member


def _stacked_norm(norm: str, weights: Weights, x: Tensor) -> Tensor:
    if norm == "none":
        return x
    if norm == "layer":
        normed = functional.layer_norm(x.transpose(1, 2), (x.shape[1],))
        return (normed * weights["weight"].unsqueeze(1) + weights["bias"].unsqueeze(1)).transpose(1, 2)
    heads, channels, positions = x.shape
    learn = weights.training and positions > 1  # from one position there is no variance
    mean, var, seen = (
        weights.buffers[weights.prefix + name] for name in ("running_mean", "running_var", "num_batches_tracked")
    )
    if learn:
        seen.add_(1)
    normed = functional.batch_norm(
        x.reshape(1, heads * channels, positions),
        mean.view(-1),
        var.view(-1),
        weights["weight"].view(-1),
        weights["bias"].view(-1),
        training=learn,
        momentum=MOMENTUM,
        eps=EPS,
    )
    return normed.view(heads, channels, positions)
