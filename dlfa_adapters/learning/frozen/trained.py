"""A head while it learns: the epoch that counts, best on source dev or nearly so; and all of it in a file."""

import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.ground.tensors import DamagedError, read_tensors, save_tensors
from dlfa_adapters.learning.frozen.optimizer import Rate
from dlfa_adapters.learning.frozen.stacked import HeadSpec

logger = logging.getLogger(__name__)

_UNKNOWN = Rate(math.nan, math.nan)


@dataclass
class Epoch:
    """An epoch that may be the one to keep.

    Attributes:
        number: From 1.
        score: Its dev score.
        state_dict: The weights after it, under the names of `FusionClassifier`.
        counts: By name of other data, what their score was a function of, (sentences, counts).
        loss: Its mean cross-entropy on dev.
    """

    number: int
    score: float
    state_dict: dict[str, Tensor]
    counts: dict[str, Tensor] = field(default_factory=dict)
    loss: float = math.inf


@dataclass
class TrainedHead:
    """A head after training.

    Attributes:
        spec: What was trained.
        rate: At which rate.
        dev_scores: The dev score after each epoch; none without dev data.
        dev_losses: The mean cross-entropy on dev, likewise.
        watched: Scores on other data after each epoch, by name; they choose nothing.
        epochs: The epochs that may still be the one to keep, in order; the first one is.
    """

    spec: HeadSpec
    rate: Rate = _UNKNOWN
    dev_scores: list[float] = field(default_factory=list)
    dev_losses: list[float] = field(default_factory=list)
    watched: dict[str, list[float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The epoch that is kept, from 1."""
        return self.epochs[0].number

    @property
    def dev_score(self) -> float:
        """The dev score of the epoch that is kept."""
        return self.epochs[0].score

    @property
    def quality(self) -> tuple[float, float]:
        """What rates are compared by: the best dev score, and among equal ones the lower loss, as a negative number.

        That is of the epoch that is kept, unless one is kept that is only nearly as good.
        """
        return self.quality_within(None)

    def quality_within(self, evaluations: int | None) -> tuple[float, float]:
        """The same of the first evaluations alone; None: of all."""
        return max(zip(self.dev_scores[:evaluations], (-loss for loss in self.dev_losses[:evaluations]), strict=True))

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Its weights."""
        return self.epochs[0].state_dict

    @property
    def counts(self) -> dict[str, Tensor]:
        """What its scores on other data are functions of."""
        return self.epochs[0].counts

    def after_epoch(
        self, number: int, score: float | None, within: float, make: Callable[[], Epoch], loss: float = math.inf
    ) -> None:
        """Take note of an epoch, and forget those that can no longer be kept.

        With `within=0` the epoch of the best score is kept, among equal ones that of the lowest loss. Otherwise the
        first epoch is kept whose score is at most `within` points below the best of all; that can only be one that was
        better than all before it.

        Args:
            number: The epoch, from 1.
            score: Its dev score; None without dev data: the last epoch is kept.
            within: Points.
            make: Makes the record of it.
            loss: Its dev loss.
        """
        if score is None:
            self.epochs = [make()]
            return
        self.dev_scores.append(score)
        self.dev_losses.append(loss)
        best = self.epochs[-1] if self.epochs else None
        if best is None or score > best.score:
            self.epochs = [epoch for epoch in self.epochs if epoch.score >= score - within] + [make()]
        elif within == 0 and score == best.score and loss < best.loss:
            self.epochs = [make()]


def before(path: Path) -> Path:
    """The file of the epoch before the last one."""
    return path.with_suffix(f".before{path.suffix}")


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
            for i, tensor in enumerate(self.live):
                tensor.copy_(tensors[f"live.{i}"])
        self.random = _under(tensors, "random.")
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

    def _load_optimizer(self, tensors: dict[str, Tensor]) -> None:
        state: dict[int, dict[str, Any]] = {}
        for name, value in _under(tensors, "optimizer.").items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value.clone() for name, value in tensors.items() if name.startswith(prefix)}
