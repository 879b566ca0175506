"""Mean and variance over the real tokens of a batch, and normalisation by them with its gradient written out.

On a GPU a small batch takes as long as its kernels take to start. Left to autograd, the gradient of a batch norm that
leaves padding out is some forty kernels; written out it is half of them, and the forward pass keeps less.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor


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


def as_bool(mask: Shaped[Tensor, "*sizes"]) -> Bool[Tensor, "*sizes"]:
    """Whether each position is real."""
    return mask if mask.dtype == torch.bool else mask != 0


def in_dtype(tensor: Shaped[Tensor, "*sizes"], dtype: torch.dtype) -> Shaped[Tensor, "*sizes"]:
    """The tensor in a dtype. `to` alone costs as much as a small kernel even where there is nothing to do."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype to compute statistics in: float32 at least."""
    return dtype if dtype.itemsize >= 4 else torch.float32


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
    def forward(x: Tensor, weight: Tensor, bias: Tensor, real: Tensor, *found_and_eps: Any) -> Tensor:
        """Normalise; see `scale_and_shift`."""
        mean, var, *_, eps = found_and_eps
        return scale_and_shift(x, mean, var, weight, bias, eps)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the features and what is small."""
        x, weight, _, real, *found, ctx.eps = inputs
        ctx.save_for_backward(x, weight, real, *found)

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


def over_processes(*sums: Tensor) -> tuple[Tensor, ...]:
    """Sums over all processes that train together, through which gradients flow back to each; in one message.

    Args:
        *sums: What this process has, the first one in floating point; each of one shape everywhere.

    Returns:
        The sums; the tensors themselves in a single process.
    """
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return sums
    message = torch.cat([tensor.to(sums[0].dtype).flatten() for tensor in sums])
    parts = _Sum.apply(message).split([tensor.numel() for tensor in sums])
    return tuple(part.reshape(tensor.shape) for part, tensor in zip(parts, sums, strict=True))


class _Sum(torch.autograd.Function):
    """The sum over all processes. Each one's loss depends on it, so the gradient is the sum of all theirs."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor) -> Tensor:
        """Add up what the processes have."""
        summed = sums.clone()
        torch.distributed.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Add up what the processes' losses ask for."""
        summed = gradient.clone()
        torch.distributed.all_reduce(summed)
        return summed
