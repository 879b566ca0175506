r"""The fusions of `dlfa_adapters.fusion` for many heads at once: a leading axis of heads in weights and states.

Tensors are (heads, channels, tokens): the tokens of all windows of a batch one after the other, without padding. So the
position-wise maps are one product a head, and batch normalisation, whose statistics are over real tokens, is the fused
kernel of PyTorch on heads times channels: a step takes a tenth of the operations that the modules take under `vmap`.
The modules in `fusion/` are what these are tested against, run by run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from dlfa_adapters.fusion.aif import BRANCHES
from dlfa_adapters.learning.frozen.examples import Batch
from dlfa_adapters.learning.frozen.stacked import HeadSpec

_EPS, _MOMENTUM = 1e-5, 0.1  # as in `MaskedBatchNorm`


@dataclass(frozen=True)
class Weights:
    """Weights of heads of one architecture, (heads, ...) each, under the names that the modules have.

    Attributes:
        parameters: What learns.
        buffers: Running statistics.
        training: Whether batch statistics are used and the running ones updated.
        prefix: The part of the names that all that is looked up has in common.
    """

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    training: bool
    prefix: str = ""

    def __getitem__(self, name: str) -> Tensor:
        """A parameter."""
        return self.parameters[self.prefix + name]

    def inside(self, name: str) -> "Weights":
        """Those of a submodule."""
        return replace(self, prefix=f"{self.prefix}{name}.")


def linear(weights: Weights, x: Tensor) -> Tensor:
    """A position-wise map: (heads or 1, in, tokens) to (heads, out, tokens)."""
    weight = weights["weight"]
    return torch.baddbmm(weights["bias"].unsqueeze(-1), weight, x.expand(len(weight), -1, -1))


def fuse(spec: HeadSpec, weights: Weights, states: Sequence[Tensor], batch: Batch) -> Tensor:
    """What the fusions make of their states.

    Args:
        spec: One of the heads; the others differ in name, seed, first weights and layers alone.
        weights: Those of the fusions.
        states: As `Fusion` takes them, (heads, width, tokens) each, or (1, width, tokens) where all take the same.
        batch: Which tokens are of which window.

    Returns:
        (heads, width, tokens), or (1, width, tokens) of a fusion without weights whose heads all take the same.
    """
    if spec.fusion == "dlfa":
        return _dlfa(spec, weights, states, batch)
    if spec.fusion == "concat":
        return _concat(weights, states)
    if spec.fusion == "scalar_mix":
        return _scalar_mix(weights, states)
    return states[0]


def _dlfa(spec: HeadSpec, weights: Weights, states: Sequence[Tensor], batch: Batch) -> Tensor:
    """Equations (1) to (4), once for each lower state."""
    *lowers, fused = states
    for step, lower in enumerate(lowers):
        w = (lower + fused) / 2
        first, second = (
            _branch(spec.norm, weights.inside(f"aif.{step}.branches.{i}"), w, batch if pooled else None)
            for i, pooled in enumerate(BRANCHES[spec.branches])
        )
        attention = torch.sigmoid(first + second)
        weight = w * attention if spec.gate == "product" else attention
        fused = fused + weight * (lower - fused)
    return fused


def _branch(norm: str, weights: Weights, w: Tensor, pooled: Batch | None) -> Tensor:
    """Equation (1), with a batch whose windows are averaged, or (2)."""
    x = w if pooled is None else w @ pooled.mean
    x = _norm(norm, weights.inside("norm1"), linear(weights.inside("conv1"), x))
    x = _norm(norm, weights.inside("norm2"), linear(weights.inside("conv2"), torch.relu(x)))
    return x if pooled is None else x @ pooled.member


def _norm(norm: str, weights: Weights, x: Tensor) -> Tensor:
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
        momentum=_MOMENTUM,
        eps=_EPS,
    )
    return normed.view(heads, channels, positions)


def _concat(weights: Weights, states: Sequence[Tensor]) -> Tensor:
    """See `ConcatMLP`."""
    heads = len(weights["up.weight"])
    joined = torch.cat([state.expand(heads, -1, -1) for state in states], 1)
    return linear(weights.inside("down"), torch.relu(linear(weights.inside("up"), joined)))


def _scalar_mix(weights: Weights, states: Sequence[Tensor]) -> Tensor:
    """See `ScalarMix`."""
    shares = weights["scale"].unsqueeze(1) * weights["weights"].softmax(1)
    return torch.einsum("hk,kwt->hwt", shares, torch.cat(list(states)))
