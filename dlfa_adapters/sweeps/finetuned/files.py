"""One file for each training of a sweep, whole or not there, by which a sweep that was killed goes on."""

import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.ground.tensors import DamagedError, read_tensors, save_tensors
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Choice
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.results import SweepRow

logger = logging.getLogger(__name__)


class RowFiles:
    """The finished trainings of a sweep, in a folder.

    A file holds scores and counts of one training and a hash of all that it depends on. One that was written for other
    data, settings or another encoder does not count; one that is damaged is deleted, and said.

    Args:
        folder: Where they are; it is made with the first one.
        prepared: The sweep.
    """

    def __init__(self, folder: Path, prepared: Prepared) -> None:
        self.folder, self.specs = folder, prepared.specs
        settings = prepared.decisive_settings()
        described = [prepared.encoder.describe(), prepared.data, settings, str(prepared.tuning), prepared.task.labels]
        self._sweep = json.dumps(described, sort_keys=True, default=str)

    def missing(self) -> list[int]:
        """Numbers of the trainings that have no file yet."""
        return [number for number in range(len(self.specs)) if self.read(number) is None]

    def read(self, number: int) -> SweepRow | None:
        """A finished training; None if it is not finished."""
        path = self._path(number)
        try:
            tensors, about = read_tensors(path)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            path.unlink(missing_ok=True)  # another process may have been faster
            logger.warning("%s It was deleted; that training runs again.", error)
            return None
        if about["identity"] != self._identity(number):
            return None
        counts = {language: tensors[str(i)].numpy() for i, language in enumerate(about["languages"])}
        return SweepRow(
            spec=self.specs[number],
            epoch=about["epoch"],
            dev=about["dev"],
            loss=about["loss"],
            languages=about["languages"],
            counts=counts,
            rates=Choice.from_dict(about["rates"]),
        )

    def write(self, number: int, row: SweepRow) -> None:
        """Write a finished training."""
        about: dict[str, Any] = {"epoch": row.epoch, "dev": row.dev, "loss": row.loss, "languages": row.languages}
        about |= {"rates": row.rates.to_dict(), "identity": self._identity(number)}
        counts = {str(i): torch.from_numpy(row.counts[language]) for i, language in enumerate(row.languages)}
        save_tensors(self._path(number), counts, about)

    def _path(self, number: int) -> Path:
        return self.folder / f"training-{self.key(number)}.safetensors"

    def key(self, number: int) -> str:
        """What tells the training from all others: the same wherever it stands in a sweep."""
        return self.key_of(self.specs[number])

    def key_of(self, spec: HeadSpec) -> str:
        """The same of a training that need not be of the sweep."""
        return self._identity_of(spec)[:16]

    def _identity(self, number: int) -> str:
        return self._identity_of(self.specs[number])

    def _identity_of(self, spec: HeadSpec) -> str:
        return hashlib.sha256(f"{self._sweep} {json.dumps(asdict(spec), sort_keys=True)}".encode()).hexdigest()
