"""M models, each an encoder with a head of its own, trained and asked as one."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.pooling import IGNORED
from dlfa_adapters.learning.ensemble.batches import Batch
from dlfa_adapters.learning.ensemble.encoder import StackedEncoder
from dlfa_adapters.learning.ensemble.heads import MemberHeads
from dlfa_adapters.learning.ensemble.vocabulary import Vocabulary
from dlfa_adapters.learning.frozen.stacked import FusionClassifier, HeadSpec


class Ensemble:
    """Stacked encoders and their heads.

    Args:
        model: The pretrained model of adapters, which all members start from; it is left as it is.
        specs: The head of each member.
        heads: Its first weights.
        vocabulary: The pieces of the training data, on the device where the ensemble shall be.
        dropout: Share of the fused state that is dropped before the classifier, in training.
    """

    def __init__(
        self,
        model: Any,
        specs: Sequence[HeadSpec],
        heads: Sequence[FusionClassifier],
        vocabulary: Vocabulary,
        *,
        dropout: float,
    ) -> None:
        device = vocabulary.ids.device
        self.num_layers = model.config.num_hidden_layers
        self.encoder = StackedEncoder(model, len(specs), vocabulary)
        self.heads = MemberHeads(specs, heads, self.num_layers, dropout=dropout, device=device)

    def __len__(self) -> int:
        return len(self.heads.specs)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.encoder.leaves["words"].device

    def logits(self, batch: Batch, *, training: bool) -> Tensor:
        """Logits of every member at the batch's positions, (members, items, labels) in float32."""
        mask = batch.mask.bool() if batch.padded else None
        states = self.encoder.states(batch.ids, mask, batch.types, depth=self.heads.depth, training=training)
        return self.heads(states, batch.mask, batch.positions, training=training).float()

    def losses(self, batch: Batch) -> Tensor:
        r"""The loss of every member: the mean of the cross-entropy over the labels of the batch, (members,).

        The gradient of the sum over members is, in the slice of each, the gradient of its own loss: they share nothing.
        """
        logits = self.logits(batch, training=True)
        gold = batch.gold.expand(len(self), -1)
        each = cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=IGNORED, reduction="none")
        return each.view(len(self), -1).sum(1) / (batch.gold != IGNORED).sum().clamp(min=1)

    def parameters(self) -> dict[str, tuple[list[int], Tensor]]:
        """By name: which members a stacked parameter belongs to, in the order of its leading axis, and itself."""
        everyone = list(range(len(self)))
        found = {f"encoder.{name}": (everyone, leaf) for name, leaf in self.encoder.leaves.items()}
        for number, group in enumerate(self.heads.groups):
            found.update({f"head.{number}.{name}": (group.members, p) for name, p in group.parameters.items()})
        return found

    def state_dict(self, member: int) -> dict[str, Tensor]:
        """The weights of a member that its loss reaches, on the CPU.

        Those of the encoder are named as in Transformers, behind `encoder.`; those of the head as in
        `FusionClassifier`. Blocks above the highest state that is fused are left out: they keep what they had.
        """
        highest = max(self.heads.specs[member].states(self.num_layers))
        above = tuple(f"encoder.layer.{layer}." for layer in range(highest, self.num_layers))
        own = {name: w for name, w in self.encoder.state_dict(member).items() if not name.startswith(above)}
        whole = {**{f"encoder.{name}": w for name, w in own.items()}, **self.heads.state_dict(member)}
        return {name: weight.cpu() for name, weight in whole.items()}
