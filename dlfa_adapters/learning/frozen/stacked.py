"""A head on frozen states: which fusion, and the module that has its weights."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.fusion import check_fuse_layer, make_fusion
from dlfa_adapters.fusion.options import flat, recorded
from dlfa_adapters.tasks.head_options import HeadOptions


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """A head to train on frozen states: a fusion and a linear classifier.

    Attributes:
        name: What it is called in tables: `last`, `D_7`.
        head: Which head.
        seed: Of the initial weights.
    """

    name: str
    head: HeadOptions = field(default_factory=HeadOptions)
    seed: int = 0

    @classmethod
    def of(cls, name: str, seed: int = 0, **options: Any) -> "HeadSpec":
        """A head with options by name, see `HeadOptions`: `HeadSpec.of("D_7", fuse_layer=7, gate="attention")`."""
        return cls(name=name, seed=seed, head=HeadOptions().changed(**options))

    def changed(self, name: str, **options: Any) -> "HeadSpec":
        """Another head, with other values of some options."""
        return replace(self, name=name, head=self.head.changed(**options))

    def record(self) -> dict[str, Any]:
        """For a JSON file."""
        fused = {**recorded(self.head.fusion_options), "seed": self.seed}
        return {"name": self.name, "fusion": self.head.fusion, "fuse_layer": self.head.layers, **fused}


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
        head = spec.head
        if head.layers:
            check_fuse_layer(head.layers, num_layers)
        self.fusion = make_fusion(
            head.fusion,
            hidden_size,
            num_layers=num_layers,
            num_lower=max(1, len(head.layers)),
            **flat(head.fusion_options),
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
