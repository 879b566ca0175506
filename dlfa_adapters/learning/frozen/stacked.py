"""A head on frozen states: which fusion, and the module that has its weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.fusion import check_fuse_layer, make_fusion, state_indices


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """A head to train on frozen states: a fusion and a linear classifier.

    Attributes:
        name: What it is called in tables: `last`, `D_7`.
        fusion: See `make_fusion`.
        fuse_layer: Layers, () where the fusion takes none.
        reduction: See `AIF`.
        branches: See `AIF`.
        gate: See `DLFA`.
        norm: See `AIF`.
        init: See `AIF`.
        seed: Of the initial weights.
    """

    name: str
    fusion: str = "dlfa"
    fuse_layer: tuple[int, ...] = ()
    reduction: float = 4
    branches: str = "both"
    gate: str = "product"
    norm: str = "batch"
    init: str = "kaiming"
    seed: int = 0

    @property
    def architecture(self) -> tuple[object, ...]:
        """What must be equal for two heads to be stacked: all but name, seed, first weights and which layers."""
        options = (self.fusion, self.reduction, self.branches, self.gate, self.norm)
        return (*options, len(self.fuse_layer))

    def options(self) -> dict[str, Any]:
        """What `make_fusion` and `add_dlfa_head` take of it besides the fusion and its layers."""
        return {name: getattr(self, name) for name in ("reduction", "branches", "gate", "norm", "init")}

    def states(self, num_layers: int) -> tuple[int, ...]:
        """Which states the fusion takes, in calling order; `num_layers` stands for the last."""
        return state_indices(self.fusion, self.fuse_layer, num_layers)


class FusionClassifier(nn.Module):
    """A fusion and a linear classifier, without the encoder under them.

    Args:
        spec: Which fusion.
        hidden_size: Width of the states.
        num_layers: Number of blocks of the encoder.
        num_labels: Number of classes.
    """

    def __init__(self, spec: HeadSpec, hidden_size: int, num_layers: int, num_labels: int) -> None:
        super().__init__()
        if spec.fuse_layer:
            check_fuse_layer(spec.fuse_layer, num_layers)
        self.fusion = make_fusion(
            spec.fusion,
            hidden_size,
            num_layers=num_layers,
            num_lower=max(1, len(spec.fuse_layer)),
            **spec.options(),
        )
        self.classifier = nn.Linear(hidden_size, num_labels)
        nn.init.normal_(self.classifier.weight, std=0.02)  # as BERT starts a classifier
        nn.init.zeros_(self.classifier.bias)

    def forward(self, states: Tensor, attention_mask: Tensor, positions: Tensor) -> Tensor:
        """Logits at some positions.

        Args:
            states: What the fusion takes, (states, batch, seq, width).
            attention_mask: (batch, seq).
            positions: Indices into the flattened batch, row * seq + column, (items,).

        Returns:
            Logits, (items, labels).
        """
        fused = self.fusion(*states.unbind(0), attention_mask=attention_mask)
        return self.classifier(fused.flatten(0, 1).index_select(0, positions))


def new_head(spec: HeadSpec, hidden_size: int, num_layers: int, num_labels: int) -> FusionClassifier:
    """A head with the initial weights of its seed; the global random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        return FusionClassifier(spec, hidden_size, num_layers, num_labels)
