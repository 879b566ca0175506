"""How many heads learn at once: AdamW over weights that share tensors, and the file from which they go on."""

import json
import logging
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.ground.tensors import DamagedError, read_tensors, save_tensors
from dlfa_adapters.learning.frozen.head import Epoch, Rate, TrainedHead
from dlfa_adapters.learning.frozen.stacks import HeadStack

logger = logging.getLogger(__name__)


class HeadsOptimizer:
    """One AdamW over many heads; what it does to a head is what it would do to that head alone.

    Neighbours of one rate in a stack are one slice of its tensors. The slices, which share their storage with the
    tensors, are what the optimiser knows, in a group of parameters for each rate.

    Attributes:
        adamw: The optimiser of PyTorch, whose state a checkpoint keeps.
    """

    def __init__(self, stacks: Sequence[HeadStack], rates: Sequence[Rate]) -> None:
        self._stacks = list(stacks)
        self._gradients: list[Tensor] = []
        groups: dict[Rate, list[Tensor]] = {}
        for stack in stacks:
            for weight in _learnt(stack):
                weight.grad = torch.zeros_like(weight)
                self._gradients.append(weight.grad)
            start = 0
            for rate, same in groupby(rates[member] for member in stack.members):
                stop = start + sum(1 for _ in same)
                groups.setdefault(rate, []).extend(_slices(stack, start, stop))
                start = stop
        self._first = [rate.learning_rate for rate in groups]
        self.adamw = torch.optim.AdamW(
            [
                {"params": params, "lr": rate.learning_rate, "weight_decay": rate.weight_decay}
                for rate, params in groups.items()
            ],
            fused=self._gradients[0].device.type in ("cpu", "cuda"),
        )

    def zero_grad(self) -> None:
        """Forget the gradients; they stay where they are."""
        torch._foreach_zero_(self._gradients)

    def step(self, share: float | Sequence[float]) -> None:
        """One step at a share of the first learning rates: of all, or for each head, by its number.

        At 0 a head stays as it is.
        """
        for group, first in zip(self.adamw.param_groups, self._first, strict=True):
            group["lr"] = first * (share if isinstance(share, float) else 1.0)
        if isinstance(share, float):
            self.adamw.step()
        else:
            self._step_each(share)

    @torch.no_grad()
    def _step_each(self, shares: Sequence[float]) -> None:
        """What AdamW changes is proportional to the rate, so that a share of the rate is that share of the change.

        A group of parameters for each head would take several times as long.
        """
        weights = [(weight, stack) for stack in self._stacks for weight in _learnt(stack)]
        before = [weight.detach().clone() for weight, _ in weights]
        self.adamw.step()
        for (weight, stack), old in zip(weights, before, strict=True):
            own = old.new_tensor([shares[member] for member in stack.members])
            weight.copy_(old.lerp(weight, own if len(own) == 1 else own.view(-1, *[1] * (old.dim() - 1))))


def _slices(stack: HeadStack, start: int, stop: int) -> list[Tensor]:
    """The weights of some heads of a stack, with their gradients."""
    if stop - start == len(stack.members):
        return _learnt(stack)
    parts = []
    for weight in _learnt(stack):
        assert weight.grad is not None
        part = weight.detach()[start:stop]
        part.grad = weight.grad[start:stop]
        parts.append(part)
    return parts


def _learnt(stack: HeadStack) -> list[Tensor]:
    return [weight for weight in stack.parameters() if weight.requires_grad]


def before(path: Path) -> Path:
    """The file of the epoch before the last one."""
    return path.with_suffix(f".before{path.suffix}")


def read_or_delete(path: Path, then: str) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """What `save_tensors` wrote into a file, if it is there; a damaged one is deleted, with a warning."""
    try:
        return read_tensors(path)
    except FileNotFoundError:
        return None
    except DamagedError as error:
        path.unlink(missing_ok=True)  # another process may have been faster
        logger.warning("%s It was deleted; %s.", error, then)
        return None


class Checkpoint:
    """Where a training stands, after its last epoch and the one before, which is used where the last file is damaged.

    Args:
        path: The file.
        heads: The heads without anything, for their specs and rates.
        epochs: Epochs of the training.
        live: What changes while they learn, which `load` overwrites.
        optimizer: Their optimiser, likewise.
        about: What else tells this training from others.

    Attributes:
        random: States of random numbers after the epoch, by name; empty where the training draws none.
    """

    def __init__(
        self,
        path: Path,
        heads: Sequence[TrainedHead],
        epochs: int,
        live: Sequence[Tensor],
        optimizer: torch.optim.Optimizer,
        **about: Any,
    ) -> None:
        self.path, self.live, self.optimizer = path, live, optimizer
        self.random: dict[str, Tensor] = {}
        specs, rates = [head.spec.record() for head in heads], [head.rate for head in heads]
        self.identity = json.loads(json.dumps({"epochs": epochs, "heads": specs, "rates": rates, **about}))

    def save(self, epoch: int, trained: Sequence[TrainedHead]) -> None:
        """Write the file; the one that was there becomes the one before."""
        tensors = {f"live.{i}": tensor.detach() for i, tensor in enumerate(self.live)}
        tensors.update({f"random.{name}": value for name, value in self.random.items()})
        for i, values in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optimizer.{i}.{name}": value for name, value in values.items()})
        for h, head in enumerate(trained):
            for e, candidate in enumerate(head.epochs):
                for kind, values in (("weights", candidate.state_dict), ("counts", candidate.counts)):
                    tensors.update({f"{kind}.{h}.{e}.{name}": value for name, value in values.items()})
        heads = [
            {
                "dev": t.dev_scores,
                "losses": t.dev_losses,
                "watched": t.watched,
                "epochs": [[e.number, e.score, e.loss] for e in t.epochs],
            }
            for t in trained
        ]
        about = {"epoch": epoch, "identity": self.identity, "heads": heads}
        if self.path.is_file():
            self.path.replace(before(self.path))
        save_tensors(self.path, tensors, about)

    def load(self, trained: Sequence[TrainedHead]) -> int:
        """Go back to where the file was written; the heads, which are without anything, are filled in.

        Returns:
            How many epochs are done; 0 if there is no file, or one of another training, or none that is complete.
            A damaged file is deleted, with a warning.
        """
        saved = self._read(self.path) or self._read(before(self.path))
        if saved is None:
            return 0
        tensors, about = saved
        with torch.no_grad():
            for i, tensor in enumerate(self.live):
                tensor.copy_(tensors[f"live.{i}"])
        self.random = _under(tensors, "random.")
        self._load_optimizer(tensors)
        for h, (head, record) in enumerate(zip(trained, about["heads"], strict=True)):
            head.dev_scores, head.dev_losses, head.watched = record["dev"], record["losses"], record["watched"]
            head.epochs = [
                Epoch(number, score, _under(tensors, f"weights.{h}.{e}."), _under(tensors, f"counts.{h}.{e}."), loss)
                for e, (number, score, loss) in enumerate(record["epochs"])
            ]
        return int(about["epoch"])

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        there = path == self.path and before(path).is_file()
        saved = read_or_delete(
            path, "the epoch before it counts" if there else "the training begins with its first epoch"
        )
        return saved if saved is not None and saved[1]["identity"] == self.identity else None

    def _load_optimizer(self, tensors: dict[str, Tensor]) -> None:
        state: dict[int, dict[str, Any]] = {}
        for name, value in _under(tensors, "optimizer.").items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value.clone() for name, value in tensors.items() if name.startswith(prefix)}
