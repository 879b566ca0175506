"""The state of a training of many heads after an epoch, in one file: weights, optimiser, scores."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlfa_adapters.frozen.kept import Epoch, TrainedHead
from dlfa_adapters.frozen.stacked import HeadSpec
from dlfa_adapters.frozen.stacks import Stack
from dlfa_adapters.ground.whole import write_whole


class Checkpoint:
    """Where a training stands.

    Args:
        path: The file.
        specs: The heads.
        epochs: Epochs of the whole training.
        stacks: The heads' weights, which `load` overwrites.
        optimizer: Their optimiser, likewise.
    """

    def __init__(
        self,
        path: Path,
        specs: Sequence[HeadSpec],
        epochs: int,
        stacks: Sequence[Stack],
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self.path, self.stacks, self.optimizer = path, stacks, optimizer
        told = {"epochs": epochs, "heads": [asdict(spec) for spec in specs], "stacks": [s.members for s in stacks]}
        self.identity = json.loads(json.dumps(told))

    def save(self, epoch: int, trained: Sequence[TrainedHead]) -> None:
        """Write the file, in place of the one before."""
        tensors = {f"live.{i}": tensor.detach() for i, tensor in enumerate(self._live())}
        for i, values in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optimizer.{i}.{name}": value for name, value in values.items()})
        for h, head in enumerate(trained):
            for e, kept in enumerate(head.epochs):
                for kind, values in (("weights", kept.state_dict), ("counts", kept.counts)):
                    tensors.update({f"{kind}.{h}.{e}.{name}": value for name, value in values.items()})
        heads = [
            {"dev": t.dev_scores, "watched": t.watched, "epochs": [[e.number, e.score] for e in t.epochs]}
            for t in trained
        ]
        about = {"epoch": epoch, "identity": self.identity, "heads": heads}
        with write_whole(self.path) as draft:
            whole = {name: value.cpu().contiguous() for name, value in tensors.items()}
            save_file(whole, draft, {"about": json.dumps(about)})

    def load(self, trained: Sequence[TrainedHead]) -> int:
        """Go back to where the file was written.

        Args:
            trained: Heads without anything; filled in.

        Returns:
            How many epochs are done; 0 if there is no file, or one of another training.
        """
        if not self.path.is_file():
            return 0
        with safe_open(self.path, "pt") as file:
            about = json.loads(file.metadata()["about"])
            if about["identity"] != self.identity:
                return 0
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        with torch.no_grad():
            for i, tensor in enumerate(self._live()):
                tensor.copy_(tensors[f"live.{i}"])
        self._load_optimizer(tensors)
        for h, (head, told) in enumerate(zip(trained, about["heads"], strict=True)):
            head.dev_scores, head.watched = told["dev"], told["watched"]
            head.epochs = [
                Epoch(number, score, _under(tensors, f"weights.{h}.{e}."), _under(tensors, f"counts.{h}.{e}."))
                for e, (number, score) in enumerate(told["epochs"])
            ]
        return int(about["epoch"])

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
