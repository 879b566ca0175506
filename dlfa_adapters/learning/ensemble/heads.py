"""A head for each of M encoders: heads of one architecture are computed together, all of them give logits."""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn.functional import dropout

from dlfa_adapters.learning.frozen.stacked import FusionClassifier, HeadSpec


class _Group(NamedTuple):
    """Heads of one architecture.

    Attributes:
        members: Which members have them.
        indices: For each, the states that its fusion takes.
        fusion: The fusion without its weights.
        parameters: (heads, ...), under the names of `FusionClassifier`.
        buffers: Likewise.
    """

    members: list[int]
    indices: list[tuple[int, ...]]
    fusion: nn.Module
    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]


class MemberHeads:
    """One head a member.

    Args:
        specs: What each head fuses, and how.
        heads: A module for each, with its first weights.
        num_layers: Number of blocks L of the encoder.
        dropout: Share of the fused state that is dropped before the classifier, in training.
        device: Where they shall be.
    """

    def __init__(
        self,
        specs: Sequence[HeadSpec],
        heads: Sequence[FusionClassifier],
        num_layers: int,
        *,
        dropout: float,
        device: torch.device,
    ) -> None:
        self.specs, self.dropout = list(specs), dropout
        by_kind: dict[tuple[object, ...], list[int]] = {}
        for member, spec in enumerate(specs):
            by_kind.setdefault(spec.architecture, []).append(member)
        self.groups = []
        for members in by_kind.values():
            modules = [copy.deepcopy(heads[member]).to(device) for member in members]
            parameters, buffers = stack_module_state(modules)
            self.groups.append(
                _Group(
                    members,
                    [specs[member].states(num_layers) for member in members],
                    modules[0].fusion.to("meta"),
                    parameters,
                    buffers,
                )
            )
        order = [member for group in self.groups for member in group.members]
        self._back = torch.tensor(order, device=device).argsort()
        self.depth = max(index for group in self.groups for indices in group.indices for index in indices)

    def __call__(self, states: Sequence[Tensor], mask: Tensor, positions: Tensor, *, training: bool) -> Tensor:
        """Logits of every member.

        Args:
            states: The states from 0 to `depth`, (members, batch, seq, width) each.
            mask: (batch, seq).
            positions: Indices into the flattened batch, row * seq + column, (items,).
            training: Whether dropout is on, and batch statistics are used and the running ones updated.

        Returns:
            (members, items, labels).
        """
        # unbind, not an index: the gradient of an index is as large as the state, for each member anew
        by_member = [state.unbind(0) for state in states]
        logits = []
        for group in self.groups:
            chosen = [
                torch.stack([by_member[k][member] for member, k in zip(group.members, at, strict=True)])
                for at in zip(*group.indices, strict=True)
            ]
            fused = _fuse(group, chosen, mask, training).flatten(1, 2).index_select(1, positions)
            if training:
                fused = dropout(fused, self.dropout)
            weight, bias = group.parameters["classifier.weight"], group.parameters["classifier.bias"]
            logits.append(torch.baddbmm(bias.unsqueeze(1), fused, weight.transpose(1, 2)))
        return torch.cat(logits).index_select(0, self._back)

    def state_dict(self, member: int) -> dict[str, Tensor]:
        """Parameters and buffers of one head under the names of `FusionClassifier`; copies."""
        [group] = [group for group in self.groups if member in group.members]
        at = group.members.index(member)
        return {name: tensor[at].detach().clone() for name, tensor in {**group.parameters, **group.buffers}.items()}


def _fuse(group: _Group, states: Sequence[Tensor], mask: Tensor, training: bool) -> Tensor:
    """What the fusions of a group make of (heads, batch, seq, width) each."""
    group.fusion.train(training)
    parameters, buffers = (
        {name.removeprefix("fusion."): tensor for name, tensor in tensors.items() if name.startswith("fusion.")}
        for tensors in (group.parameters, group.buffers)
    )

    def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *states: Tensor) -> Tensor:
        return functional_call(group.fusion, (parameters, buffers), states, {"attention_mask": mask})

    fused: Tensor = torch.vmap(one)(parameters, buffers, *states)
    return fused
