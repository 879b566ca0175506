"""The modules of heads on frozen states: a fusion, and behind it a linear classifier or the head that a kind has."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.fusion import check_fuse_layer, make_fusion
from dlfa_adapters.fusion.options import flat
from dlfa_adapters.kinds import Kind
from dlfa_adapters.learning.frozen.head import HeadSpec


class FusionClassifier(nn.Module):
    """A fusion and a linear classifier, without the encoder under them."""

    def __init__(self, spec: HeadSpec, hidden_size: int, num_layers: int, num_labels: int) -> None:
        super().__init__()
        self.fusion = _fusion(spec, hidden_size, num_layers)
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


class FusionHead(nn.Module):
    """A fusion and a head of a kind's own, without the encoder under them."""

    def __init__(self, spec: HeadSpec, hidden_size: int, num_layers: int, num_labels: int, kind: Kind) -> None:
        super().__init__()
        self.fusion, self.kind = _fusion(spec, hidden_size, num_layers), kind
        name = kind.own_head or ""
        self.head = kind.make_head(
            name, hidden_size, num_labels, kind.own_options(name, {**kind.head_options, **spec.own})
        )

    def forward(self, states: Tensor, attention_mask: Tensor, inputs: Mapping[str, Tensor]) -> Any:
        """What the head gives.

        Args:
            states: What the fusion takes, (states, batch, seq, width).
            attention_mask: (batch, seq).
            inputs: Those of the kind's `head_inputs`, by name, and others.
        """
        fused = self.fusion(*states.unbind(0), attention_mask=attention_mask)
        return self.head(fused, attention_mask, **{name: inputs.get(name) for name in self.kind.head_inputs})

    def losses(self, scores: Any, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The sum of the losses over what is learned from in a batch, and how much that is; `scores` of `forward`."""
        return own_losses(self.kind, self.head, scores, inputs)


def own_losses(kind: Kind, head: Any, scores: Any, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The sum of the losses of a head of a kind's own over what is learned from, and how much that is.

    `scores` is what the head, an `OwnHead`, gave; `inputs` have the labels by name.
    """
    labels = {name: inputs[name] for name in kind.label_inputs}
    count = kind.items_in_loss(kind.own_head or "", 0, labels[kind.label_inputs[0]], None)
    return head.loss(scores, **labels) * count, count


def new_head(
    spec: HeadSpec, hidden_size: int, num_layers: int, num_labels: int, kind: Kind | None = None
) -> FusionClassifier | FusionHead:
    """A head with the initial weights of its seed; the global random state is left as it was.

    It is that of a kind that has one of its own; without a kind it is a linear classifier.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        if kind is None:
            return FusionClassifier(spec, hidden_size, num_layers, num_labels)
        return FusionHead(spec, hidden_size, num_layers, num_labels, kind)


def _fusion(spec: HeadSpec, hidden_size: int, num_layers: int) -> nn.Module:
    head = spec.head
    if head.layers:
        check_fuse_layer(head.layers, num_layers)
    num_lower = max(1, len(head.layers))
    return make_fusion(
        head.fusion, hidden_size, num_layers=num_layers, num_lower=num_lower, **flat(head.fusion_options)
    )
