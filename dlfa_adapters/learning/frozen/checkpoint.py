"""The state of a training of many heads after an epoch, in one file: weights, optimiser, scores."""

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.ground.tensors import DamagedError, read_tensors, save_tensors
from dlfa_adapters.learning.frozen.kept import Epoch, TrainedHead
from dlfa_adapters.learning.frozen.stacks import Stack

logger = logging.getLogger(__name__)


def before(path: Path) -> Path:
    """The file of the epoch before the last one."""
    return path.with_suffix(f".before{path.suffix}")


class Checkpoint:
    """Where a training stands, after its last epoch and the one before, which is used where the last file is damaged.

    Args:
        path: The file.
        heads: The heads without anything, for their specs and rates.
        epochs: Epochs of the whole training.
        stacks: The heads' weights, which `load` overwrites.
        optimizer: Their optimiser, likewise.
    """

    def __init__(
        self,
        path: Path,
        heads: Sequence[TrainedHead],
        epochs: int,
        stacks: Sequence[Stack],
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self.path, self.stacks, self.optimizer = path, stacks, optimizer
        told = {
            "epochs": epochs,
            "heads": [head.spec.record() for head in heads],
            "rates": [head.rate for head in heads],
            "stacks": [stack.members for stack in stacks],
        }
        self.identity = json.loads(json.dumps(told))

    def save(self, epoch: int, trained: Sequence[TrainedHead]) -> None:
        """Write the file; the one that was there becomes the one before."""
        tensors = {f"live.{i}": tensor.detach() for i, tensor in enumerate(self._live())}
        for i, values in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optimizer.{i}.{name}": value for name, value in values.items()})
        for h, head in enumerate(trained):
            for e, kept in enumerate(head.epochs):
                for kind, values in (("weights", kept.state_dict), ("counts", kept.counts)):
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
        """Go back to where the file was written.

        Args:
            trained: Heads without anything; filled in.

        Returns:
            How many epochs are done; 0 if there is no file, or one of another training, or none that is whole. A
            damaged file is deleted, and said.
        """
        found = self._read(self.path) or self._read(before(self.path))
        if found is None:
            return 0
        tensors, about = found
        with torch.no_grad():
            for i, tensor in enumerate(self._live()):
                tensor.copy_(tensors[f"live.{i}"])
        self._load_optimizer(tensors)
        for h, (head, told) in enumerate(zip(trained, about["heads"], strict=True)):
            head.dev_scores, head.dev_losses, head.watched = told["dev"], told["losses"], told["watched"]
            head.epochs = [
                Epoch(number, score, _under(tensors, f"weights.{h}.{e}."), _under(tensors, f"counts.{h}.{e}."), loss)
                for e, (number, score, loss) in enumerate(told["epochs"])
            ]
        return int(about["epoch"])

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        try:
            found = read_tensors(path)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            path.unlink()
            there = path == self.path and before(path).is_file()
            then = "the epoch before it counts" if there else "the training begins with its first epoch"
            logger.warning("%s It was deleted; %s.", error, then)
            return None
        return found if found[1]["identity"] == self.identity else None

    def _live(self) -> Iterator[Tensor]:
        for stack in self.stacks:
            yield from (*stack.parameters(), *stack.buffers())

    def _load_optimizer(self, tensors: dict[str, Tensor]) -> None:
        state: dict[int, dict[str, Any]] = {}
        for name, value in _under(tensors, "optimizer.").items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value.clone() for name, value in tensors.items() if name.startswith(prefix)}
