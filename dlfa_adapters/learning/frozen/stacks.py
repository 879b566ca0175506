"""Heads of one architecture as one: their weights share tensors with a leading axis of heads."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from zlib import crc32

import torch
from torch import Tensor
from torch.func import stack_module_state
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.fusion.base import Weights, linear
from dlfa_adapters.fusion.build import FUSIONS
from dlfa_adapters.learning.frozen.batch import Batch
from dlfa_adapters.learning.frozen.head import HeadSpec
from dlfa_adapters.learning.frozen.module import FusionClassifier, FusionHead

_BYTES = {"cpu": 2**27, "cuda": 2**31}  # of what a stack saves for its backward pass: on a CPU it should stay in caches
_HELD = 12  # float32 values of the width a token and head that are saved, about


class HeadStack(ABC):
    """Some heads, trained side by side: what they are, and where each (`members`) stands among all of a training."""

    def __init__(
        self, specs: Sequence[HeadSpec], members: Sequence[int], parameters: Iterable[Tensor], buffers: Iterable[Tensor]
    ) -> None:
        self.specs, self.members = list(specs), list(members)
        self._parameters, self._buffers = list(parameters), list(buffers)

    @abstractmethod
    def __call__(self, batch: Batch, *, training: bool) -> Any:
        """Logits of every head at the positions of a batch, (heads, labels, words); or what a kind's own head gives."""

    def losses(self, logits: Any, batch: Batch, gold: Tensor) -> tuple[Tensor, Tensor]:
        """What a batch costs.

        Args:
            logits: What the heads gave for it.
            batch: The batch; `places` says where its words stand in `gold`.
            gold: The label id of every word of the data, -100 for none.

        Returns:
            The sum of the losses of each head over what is learned from, (heads,), and how much that is.
        """
        right = gold[batch.places]
        losses = cross_entropy(logits, right.expand(len(logits), -1), ignore_index=IGNORED, reduction="none")
        return losses.sum(1), (right != IGNORED).sum()

    def parameters(self) -> list[Tensor]:
        """What the optimiser changes."""
        return self._parameters

    def buffers(self) -> list[Tensor]:
        """What changes besides."""
        return self._buffers

    @abstractmethod
    def finite(self) -> list[bool]:
        """Whether all parameters of each head are finite numbers."""

    @abstractmethod
    def state_dict(self, head: int) -> dict[str, Tensor]:
        """Parameters and buffers of one head under the names of `FusionClassifier`, copied to the CPU."""


class StackedHeads(HeadStack):
    """Heads whose equations are written for all of them at once: specs of one architecture, with a module each.

    Batches have the states `layers`.

    Raises:
        ValueError: If the architectures differ.
    """

    def __init__(
        self,
        specs: Sequence[HeadSpec],
        members: Sequence[int],
        heads: Sequence[FusionClassifier],
        num_layers: int,
        layers: Sequence[int],
    ) -> None:
        if len({spec.head.architecture for spec in specs}) != 1:
            raise ValueError(f"Heads that are stacked must have one architecture, got {[s.name for s in specs]}.")
        head = specs[0].head
        fuse = FUSIONS[head.fusion].stacked(head.fusion_options)
        if fuse is None:
            raise ValueError(f"The fusion {head.fusion!r} has no stacked form with {head.fusion_options}.")
        self._fuse = partial(fuse, head.fusion_options)
        parameters, buffers = stack_module_state(list(heads))
        super().__init__(specs, members, parameters.values(), buffers.values())
        self.weights = Weights(parameters, buffers, training=False)
        # A column a head: the states that it takes, as places in `layers`. A row that is the same for all heads is kept
        # as one place, and the fusion gets that state without a copy for each head.
        places = torch.tensor([[layers.index(k) for k in spec.head.states(num_layers)] for spec in specs]).T
        shared = [(column == column[0]).all() for column in places]
        device = next(iter(parameters.values())).device
        self._places = [c[:1].to(device) if same else c.to(device) for c, same in zip(places, shared, strict=True)]

    def __call__(self, batch: Batch, *, training: bool) -> Tensor:
        """See `HeadStack`."""
        weights = replace(self.weights, training=training)
        states = [batch.states.index_select(0, places) for places in self._places]
        fused = self._fuse(weights.inside("fusion"), states, batch)
        return linear(weights.inside("classifier"), _at(fused, batch.positions))

    def finite(self) -> list[bool]:
        """See `HeadStack`."""
        return torch.stack([p.reshape(len(p), -1).isfinite().all(1) for p in self.parameters()]).all(0).tolist()

    def state_dict(self, head: int) -> dict[str, Tensor]:
        """See `HeadStack`."""
        both = {**self.weights.parameters, **self.weights.buffers}
        return {name: tensor[head].detach().to("cpu", copy=True) for name, tensor in both.items()}


def _at(fused: Tensor, positions: Tensor) -> Tensor:
    """The tokens at some positions, in their order; where that is all of them, nothing is copied."""
    tokens = fused.shape[2]
    if len(positions) == tokens and positions.equal(torch.arange(tokens, device=positions.device)):
        return fused
    return fused.index_select(2, positions)


class _EachAlone(HeadStack):
    """An ordinary module: a head whose fusion has no stacked form, or a head of a kind's own."""

    def __init__(
        self, spec: HeadSpec, member: int, head: FusionClassifier | FusionHead, num_layers: int, layers: Sequence[int]
    ) -> None:
        super().__init__([spec], [member], head.parameters(), head.buffers())
        self.head = head
        self._places = [layers.index(k) for k in spec.head.states(num_layers)]

    def __call__(self, batch: Batch, *, training: bool) -> Any:
        states, mask, positions = batch.padded()
        head = self.head.train(training)
        if isinstance(head, FusionClassifier):
            return head(states[self._places], mask, positions).T.unsqueeze(0)
        devices = [states.device] if training and states.is_cuda else []
        with torch.random.fork_rng(devices=devices, enabled=training):
            if training:  # the same dropout for the same seed and batch, whoever learns beside it and after a resume
                seed = torch.manual_seed if devices else torch.default_generator.manual_seed  # which is much faster
                seed(crc32(repr((self.specs[0].seed, *batch.rows)).encode()))
            return head(states[self._places], mask, batch.inputs)

    def losses(self, logits: Any, batch: Batch, gold: Tensor) -> tuple[Tensor, Tensor]:
        if isinstance(self.head, FusionClassifier):
            return super().losses(logits, batch, gold)
        total, count = self.head.losses(logits, batch.inputs)
        return total[None], count

    def finite(self) -> list[bool]:
        return [all(bool(p.isfinite().all()) for p in self.parameters())]

    def state_dict(self, head: int) -> dict[str, Tensor]:
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in self.head.state_dict().items()}


def make_stacks(
    heads: Sequence[tuple[HeadSpec, FusionClassifier | FusionHead]],
    num_layers: int,
    layers: Sequence[int],
    tokens: int,
    order: Sequence[int] | None = None,
) -> list[HeadStack]:
    """Heads of equal architecture together, as many as should train on so many tokens at once.

    Heads are on the device where the states are; batches have the states `layers` and at most so many tokens. `order`
    has the place of every head, in the order in which they shall stand in a stack; None: as they come. The stacks go by
    architecture, not as `heads` do: `HeadStack.members` tells which of `heads` are in each.
    """
    by_kind: dict[tuple[object, ...], list[int]] = {}
    for member in order or range(len(heads)):
        by_kind.setdefault(heads[member][0].head.architecture, []).append(member)
    return [stack for members in by_kind.values() for stack in _stacks(heads, members, num_layers, layers, tokens)]


def _stacks(
    heads: Sequence[tuple[HeadSpec, FusionClassifier | FusionHead]],
    members: list[int],
    num_layers: int,
    layers: Sequence[int],
    tokens: int,
) -> Iterator[HeadStack]:
    spec, head = heads[members[0]]
    if isinstance(head, FusionHead) or FUSIONS[spec.head.fusion].stacked(spec.head.fusion_options) is None:
        for member in members:
            yield _EachAlone(heads[member][0], member, heads[member][1], num_layers, layers)
        return
    steps = max(1, len(spec.head.layers))
    at_once = max(1, _room(head.classifier.weight.device) // (4 * _HELD * steps * head.classifier.in_features * tokens))
    for start in range(0, len(members), at_once):
        part = members[start : start + at_once]
        specs, modules = zip(*(heads[member] for member in part), strict=True)
        yield StackedHeads(specs, part, modules, num_layers, layers)


def _room(device: torch.device) -> int:
    """Bytes that a stack may save: on a GPU a quarter of what is free, since each stack there is costs its launches."""
    least = _BYTES.get(device.type, _BYTES["cpu"])
    return max(least, torch.cuda.mem_get_info(device)[0] // 4) if device.type == "cuda" else least


def all_layers(specs: Sequence[HeadSpec], num_layers: int) -> tuple[int, ...]:
    """The states that any of some heads takes, ascending."""
    return tuple(sorted({k for spec in specs for k in spec.head.states(num_layers)}))
