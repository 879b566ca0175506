"""Batch normalisation over the real tokens of a padded batch, with its gradient written out.

On a GPU a small batch takes as long as its kernels take to start. Left to autograd, the gradient of a batch norm that
leaves padding out is some forty kernels; written out it is half of them, and the forward pass keeps less.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional

from dlfa_adapters.fusion.base import as_bool, in_dtype, over_processes, wide_dtype

EPS, MOMENTUM = 1e-5, 0.1  # as `torch.nn.BatchNorm1d` has them


class Moments(NamedTuple):
    """Statistics of the real tokens, or what stands in for them where there are fewer than two.

    Attributes:
        mean: Of each channel.
        var: The biased variance.
        unbiased: The unbiased variance.
        enough: Whether there are two real tokens.
        divisor: How many there are, and 2 where there are fewer.
    """

    mean: Float[Tensor, " width"]
    var: Float[Tensor, " width"]
    unbiased: Float[Tensor, " width"]
    enough: Bool[Tensor, ""]
    divisor: Shaped[Tensor, ""]


def moments(
    x: Float[Tensor, "batch seq width"],
    real: Bool[Tensor, "batch seq 1"],
    mean_without: Float[Tensor, " width"],
    var_without: Float[Tensor, " width"],
) -> Moments:
    """Statistics of each channel over the real tokens, those of all processes that train together.

    Args:
        x: Features, in float32 or wider.
        real: Which positions are real.
        mean_without: The mean where fewer than two are.
        var_without: The variance there.
    """
    # where() and not a product: what stands in the padding, an infinity say, must not leak in as 0 * inf
    sums, count = over_processes(torch.where(real, x, 0).sum((0, 1)), real.sum())
    enough, divisor = count >= 2, count.clamp(min=2)
    mean = torch.where(enough, sums / divisor, mean_without)
    (squares,) = over_processes(torch.where(real, x - mean, 0).square().sum((0, 1)))
    var = torch.where(enough, squares / divisor, var_without)
    unbiased = torch.where(enough, squares / (divisor - 1), var_without)
    return Moments(mean, var, unbiased, enough, divisor)


def scale_and_shift(
    x: Float[Tensor, "batch seq width"],
    mean: Float[Tensor, " width"],
    var: Float[Tensor, " width"],
    weight: Float[Tensor, " width"],
    bias: Float[Tensor, " width"],
    eps: float,
) -> Float[Tensor, "batch seq width"]:
    r"""$\gamma (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta$."""
    return torch.addcmul(bias, x - mean, weight * torch.rsqrt(var + eps))


class Normalise(torch.autograd.Function):
    """`scale_and_shift` by moments of `x` itself, which may have been computed without autograd."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, real: Tensor, *statistics_and_eps: Any) -> Tensor:
        """Normalise; see `scale_and_shift`."""
        mean, var, *_, eps = statistics_and_eps
        return scale_and_shift(x, mean, var, weight, bias, eps)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the features and what is small."""
        x, weight, _, real, *statistics, ctx.eps = inputs
        ctx.save_for_backward(x, weight, real, *statistics)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of features, scale and shift; that of the features also through mean and variance."""
        x, weight, real, mean, var, *rest = ctx.saved_tensors
        if torch.is_grad_enabled():  # of the gradient another one is wanted
            mean, var, *_ = moments(x, real, mean, var)
        _, enough, divisor = rest
        inverse, centred = torch.rsqrt(var + ctx.eps), x - mean
        of_bias, dot = gradient.sum((0, 1)), (gradient * centred).sum((0, 1))
        all_bias, all_dot = over_processes(of_bias, dot)
        share = enough / divisor  # of each real token in the statistics
        through = torch.addcmul(all_bias * share, centred, all_dot * share * inverse.square())
        of_x = (gradient - torch.where(real, through, 0)) * (weight * inverse)
        return of_x, dot * inverse, of_bias, *[None] * 7


class MaskedBatchNorm(nn.Module):
    r"""Batch normalisation whose statistics leave padding out (Ioffe and Szegedy 2015, arXiv 1502.03167).

    $$\mathrm{BN}(x) = \gamma\,\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta$$

    with $\mu$ and $\sigma^2$ over the positions where `mask` is true, so the result for a sentence depends neither on
    how much padding stands beside it nor on which side. With fewer than two such positions there is no variance: the
    running statistics are used, and stay as they are.

    Statistics are computed in float32 or wider, and the running buffers stay at least float32 whatever the module is
    cast to: squares of half-precision features overflow. Nothing here branches on a value of a tensor, so a GPU is
    never waited for.

    Where several processes train together (`torch.distributed`), statistics are over the batches of all of them, so the
    gradients are those of one process with the whole batch.

    Args:
        width: Number of channels, the last axis of the input.
        eps: Added to the variance.
        momentum: Weight of the new batch in the running statistics.

    !!! note "Deviations from the paper"
        The DLFA paper does not say whether padding counts. `AIF(mask_padding=False)` passes no mask and so counts it.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, width: int, eps: float = EPS, momentum: float = MOMENTUM) -> None:
        super().__init__()
        self.width, self.eps, self.momentum = width, eps, momentum
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        wide = torch.promote_types(torch.get_default_dtype(), torch.float32)
        self.register_buffer("running_mean", torch.zeros(width, dtype=wide))
        self.register_buffer("running_var", torch.ones(width, dtype=wide))
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))

    def forward(
        self, x: Float[Tensor, "batch seq width"], mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq width"]:
        """Normalise each channel.

        Args:
            x: Features, (batch, seq, width).
            mask: Non-zero where a position is real, (batch, seq). Without it all positions are.

        Returns:
            The normalised features in the dtype of `x`; padding is normalised with the same statistics.
        """
        dtype = wide_dtype(x.dtype)
        weight, bias = in_dtype(self.weight, dtype), in_dtype(self.bias, dtype)
        running = in_dtype(self.running_mean, dtype), in_dtype(self.running_var, dtype)
        if not self.training:  # one kernel, which takes features in 16 bits and computes in 32
            return functional.batch_norm(x.flatten(0, 1), *running, weight, bias, eps=self.eps).view(x.shape)
        wide = in_dtype(x, dtype)
        real = as_bool(x.new_ones(x.shape[:2]) if mask is None else mask).unsqueeze(-1)
        compiling = torch.compiler.is_compiling()  # the compiler writes a gradient of its own, no worse than ours
        with torch.set_grad_enabled(compiling and torch.is_grad_enabled()):
            statistics = moments(wide, real, *running)
        self._update(statistics)
        if compiling:
            return in_dtype(scale_and_shift(wide, statistics.mean, statistics.var, weight, bias, self.eps), x.dtype)
        return in_dtype(Normalise.apply(wide, weight, bias, real, *statistics, self.eps), x.dtype)

    @torch.no_grad()
    def _update(self, statistics: Moments) -> None:
        for running, new in ((self.running_mean, statistics.mean), (self.running_var, statistics.unbiased)):
            running.add_(in_dtype(new, running.dtype) - running, alpha=self.momentum)
        self.num_batches_tracked.add_(statistics.enough)

    def reset_parameters(self) -> None:
        """Start again: scale 1, shift 0, running mean 0, running variance 1, no batch seen."""
        for tensor in (self.weight, self.running_var):
            nn.init.ones_(tensor)
        for tensor in (self.bias, self.running_mean, self.num_batches_tracked):
            nn.init.zeros_(tensor)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "MaskedBatchNorm":
        """Move or cast as every module does, but never take the running statistics below float32."""
        before = {name: buffer for name, buffer in self._buffers.items() if buffer is not None}
        super()._apply(fn, recurse)
        for name, buffer in before.items():
            after = self._buffers[name]
            if after is not None and after.is_floating_point() and after.dtype.itemsize < 4:
                self._buffers[name] = buffer.to(device=after.device)
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Load as every module does, widening running statistics that were stored or assigned in 16 bits."""
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.is_floating_point() and buffer.dtype.itemsize < 4:
                self._buffers[name] = buffer.float()

    def extra_repr(self) -> str:
        """What stands in the brackets when the module is printed."""
        return f"{self.width}, eps={self.eps}, momentum={self.momentum}"


class MaskedLayerNorm(nn.LayerNorm):
    """Layer normalisation with the interface of `MaskedBatchNorm`: each position by itself, so no mask matters."""

    def forward(
        self, x: Float[Tensor, "batch seq width"], mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq width"]:
        """Normalise each position over its channels; `mask` is not used."""
        return super().forward(x)


class NoNorm(nn.Module):
    """No normalisation, with the same interface."""

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(
        self, x: Float[Tensor, "batch seq width"], mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq width"]:
        """Return the input."""
        return x

    def reset_parameters(self) -> None:
        """Nothing to start again."""


NORMS: dict[str, Callable[[int], MaskedBatchNorm | MaskedLayerNorm | NoNorm]] = {
    "batch": MaskedBatchNorm,
    "layer": MaskedLayerNorm,
    "none": NoNorm,
}
