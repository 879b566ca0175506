"""What DLFA is compared with: the last layer, one layer alone, a mix of all, an MLP of equal size."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from dlfa_adapters.fusion.base import Fusion, Weights, check_count, check_sizes, linear


class OneLayer(Fusion):
    """One state as it is: the last one (`fusion="last"`, the baseline) or one other layer (`fusion="layer"`)."""

    def forward(
        self,
        *states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the one state given."""
        check_count("OneLayer", states, 1)
        return states[0]


class ScalarMix(Fusion):
    r"""A learned weighted sum of all layers (Peters et al. 2018, arXiv 1802.05365, equation (1)).

    $$\gamma \sum_{k=0}^{L} \mathrm{softmax}(w)_k\, h_k$$

    This is the input of the feature-based models of Wu and Dredze 2019 ("Beto, Bentz, Becas", arXiv 1904.09077).
    It starts as the plain mean of the states.

    Args:
        num_states: L + 1, with the embedding output.

    Raises:
        ValueError: If it is below 1.
    """

    def __init__(self, num_states: int) -> None:
        super().__init__()
        if num_states < 1:
            raise ValueError(f"num_states must be the number of layers and one more, at least 1; got {num_states}.")
        self.weights = nn.Parameter(torch.zeros(num_states))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(
        self,
        *states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Mix; a position's result depends on that position alone."""
        check_count("ScalarMix", states, len(self.weights))
        weights = (self.scale * self.weights.softmax(0)).unbind()
        mixed = states[0] * weights[0]
        for state, weight in zip(states[1:], weights[1:], strict=True):
            mixed = mixed + state * weight
        return mixed

    def reset_parameters(self) -> None:
        """Start again from the mean."""
        nn.init.zeros_(self.weights)
        nn.init.ones_(self.scale)


class ConcatMLP(Fusion):
    """An MLP on the concatenated states: the control with as many weights as DLFA, but no gate (not in the paper).

    DLFA with r has about 4 E^2 / r weights a lower layer; with n lower layers an inner width of 4 n E / (r (n + 2))
    gives this MLP, of (n + 1) E inputs and E outputs, the same number.

    Args:
        hidden_size: Width E of the states.
        reduction: r of the DLFA module to compare with.
        num_lower: Number n of lower layers.

    Raises:
        ValueError: If E / r is below 1, or there is no lower layer.
    """

    def __init__(self, hidden_size: int, reduction: int | float = 4, num_lower: int = 1) -> None:
        super().__init__()
        check_sizes(hidden_size, reduction, num_lower)
        inner = max(1, round(4 * num_lower * hidden_size / (reduction * (num_lower + 2))))
        self.num_states = num_lower + 1
        self.up = nn.Linear(self.num_states * hidden_size, inner)
        self.down = nn.Linear(inner, hidden_size)
        self.reset_parameters()

    def forward(
        self,
        *states: Float[Tensor, "batch seq width"],
        attention_mask: Shaped[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Concatenate, map, ReLU, map; a position's result depends on that position alone."""
        check_count("ConcatMLP", states, self.num_states)
        return self.down(torch.relu(self.up(torch.cat(states, -1))))

    def reset_parameters(self) -> None:
        """Kaiming-normal weights, zero biases."""
        for layer in (self.up, self.down):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)


def stacked_layer(options: Any, weights: Weights, states: Sequence[Tensor], batch: Any) -> Tensor:
    """`OneLayer` of many heads at once, see `Weights`."""
    return states[0]


def stacked_mix(options: Any, weights: Weights, states: Sequence[Tensor], batch: Any) -> Tensor:
    """`ScalarMix` of many heads at once, see `Weights`."""
    shares = weights["scale"].unsqueeze(1) * weights["weights"].softmax(1)
    return torch.einsum("hk,kwt->hwt", shares, torch.cat(list(states)))


def stacked_concat(options: Any, weights: Weights, states: Sequence[Tensor], batch: Any) -> Tensor:
    """`ConcatMLP` of many heads at once, see `Weights`."""
    heads = len(weights["up.weight"])
    joined = torch.cat([state.expand(heads, -1, -1) for state in states], 1)
    return linear(weights.inside("down"), torch.relu(linear(weights.inside("up"), joined)))
