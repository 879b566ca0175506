"""An ensemble: M models, each an encoder with a head of its own, trained and evaluated as one."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn.functional import cross_entropy, dropout

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.learning.ensemble.data import DeviceBatch
from dlfa_adapters.learning.ensemble.encoder import StackedEncoder
from dlfa_adapters.learning.ensemble.vocabulary import Vocabulary
from dlfa_adapters.learning.frozen.head import HeadSpec
from dlfa_adapters.learning.frozen.module import FusionClassifier
from dlfa_adapters.tasks import Task


class Ensemble:
    """Stacked encoders and their heads, as many of these as of those."""

    def __init__(self, encoder: StackedEncoder, heads: "MemberHeads") -> None:
        self.encoder, self.heads = encoder, heads

    def __len__(self) -> int:
        return len(self.heads.specs)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.encoder.leaves["words"].device

    def logits(self, batch: DeviceBatch, *, training: bool) -> Tensor:
        """Logits of every member at the batch's positions, (members, items, labels) in float32."""
        mask = batch.mask.bool() if batch.padded else None
        states = self.encoder.states(batch.ids, mask, batch.types, depth=self.heads.depth, training=training)
        return self.heads(states, batch.mask, batch.positions, training=training).float()

    def losses(self, batch: DeviceBatch) -> Tensor:
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
        named = {f"encoder.{name}": (everyone, leaf) for name, leaf in self.encoder.leaves.items()}
        for number, group in enumerate(self.heads.groups):
            named.update({f"head.{number}.{name}": (group.members, p) for name, p in group.parameters.items()})
        return named

    def state_dict(self, member: int) -> dict[str, Tensor]:
        """The weights of a member that its loss reaches, on the CPU.

        Those of the encoder are named as in Transformers, behind `encoder.`; those of the head as in
        `FusionClassifier`. Blocks above the highest state that is fused are left out: they keep what they had.
        """
        num_layers = self.encoder.config.num_hidden_layers
        highest = max(self.heads.specs[member].head.states(num_layers))
        above = tuple(f"encoder.layer.{layer}." for layer in range(highest, num_layers))
        own = {name: w for name, w in self.encoder.state_dict(member).items() if not name.startswith(above)}
        weights = {**{f"encoder.{name}": w for name, w in own.items()}, **self.heads.state_dict(member)}
        return {name: weight.cpu() for name, weight in weights.items()}


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
    """One head a member: what it fuses and how, and a module with its first weights.

    In training a share of the fused state is dropped before the classifier.
    """

    def __init__(
        self, specs: Sequence[HeadSpec], heads: Sequence[FusionClassifier], num_layers: int, dropout: float
    ) -> None:
        self.specs, self.dropout = list(specs), dropout
        by_kind: dict[tuple[object, ...], list[int]] = {}
        for member, spec in enumerate(specs):
            by_kind.setdefault(spec.head.architecture, []).append(member)
        self.groups = []
        for members in by_kind.values():
            parameters, buffers = stack_module_state([heads[member] for member in members])
            indices = [specs[member].head.states(num_layers) for member in members]
            self.groups.append(_Group(members, indices, heads[members[0]].fusion.to("meta"), parameters, buffers))
        order = [member for group in self.groups for member in group.members]
        self._back = torch.tensor(order, device=self.groups[0].parameters["classifier.weight"].device).argsort()
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


def start_ensemble(
    model: Any, specs: Sequence[HeadSpec], task: Task, rows: Iterable[Row], padding: int, device: torch.device
) -> Ensemble:
    """An ensemble before its first step; `padding` is what batches are padded with.

    The model of adapters is on the CPU; heads are added to it, with first weights by the seeds of their specs, and
    taken off again.
    """
    words = model.base_model.embeddings.word_embeddings
    pieces = {piece for row in rows for piece in row.input_ids}
    paddings = {padding} if words.padding_idx is None else {padding, words.padding_idx}
    vocabulary = Vocabulary(words.weight, pieces, paddings).to(device)
    heads, dropout = zip(*(_first_head(model, spec, task) for spec in specs), strict=True)
    members = MemberHeads(specs, [head.to(device) for head in heads], model.config.num_hidden_layers, dropout[0])
    return Ensemble(StackedEncoder(model, len(specs), vocabulary), members)


def _first_head(model: Any, spec: HeadSpec, task: Task) -> tuple[FusionClassifier, float]:
    """The head that `train` begins with for this seed, and the dropout before its classifier."""
    name = "first-weights"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        model.add_dlfa_head(
            name,
            head_type=kind_of_task(task).head_types[0],
            id2label=task.id2label,
            layers=1,
            **spec.head.keywords(),
        )
        built = model.heads[name]
        dropout, linear = built.inner[-2], built.inner[-1]
        head = FusionClassifier(spec, model.config.hidden_size, model.config.num_hidden_layers, len(task.labels))
        head.fusion.load_state_dict(built.fusion.state_dict())
        head.classifier.load_state_dict(linear.state_dict())
        model.delete_head(name)
    return head, float(dropout.p)
