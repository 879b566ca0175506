"""What a process trains of a sweep with fine-tuning: runs side by side, or one by itself."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from dlfa_adapters.ground.running import Progress
from dlfa_adapters.learning.ensemble.batches import DeviceRows
from dlfa_adapters.learning.ensemble.predict import Questions
from dlfa_adapters.learning.ensemble.start import start_ensemble
from dlfa_adapters.learning.ensemble.training import TrainedMember, rates, train_ensemble
from dlfa_adapters.learning.finite import NotFiniteError
from dlfa_adapters.sweeps.finetuned.singly import train_singly
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.trainings import Job

logger = logging.getLogger(__name__)


class Stage(ABC):
    """Trainings that have numbers.

    Attributes:
        name: For the screen.
        count: How many there are.
        targets: Whether the target languages are scored.
    """

    name: str
    count: int
    targets: bool

    @abstractmethod
    def job(self, number: int) -> Job:
        """What to train."""

    @abstractmethod
    def missing(self) -> list[int]:
        """Those that are not finished."""

    @abstractmethod
    def keep(self, number: int, member: TrainedMember) -> None:
        """Write down what came of one."""

    @abstractmethod
    def diverged(self, number: int) -> None:
        """Write down that nothing came of one, if that is of use."""


class Work:
    """What a process trains.

    Args:
        prepared: The sweep.
        stage: What to train.
        folder: Where runs are that are trained by themselves, while they are.
        device: Where to train.
        progress: Called after each step; a step of M models counts M.
        runs: About how many runs this process trains.

    Attributes:
        bad: By number, since when loss or gradient of a run were no finite numbers.
    """

    def __init__(
        self, prepared: Prepared, stage: Stage, folder: Path, device: torch.device, progress: Progress, runs: int
    ) -> None:
        self.prepared, self.stage, self.folder = prepared, stage, folder
        self.device, self.progress = device, progress
        self.bad: dict[int, str] = {}
        self._total = runs * rates(prepared.settings, len(prepared.train.rows)).steps
        self._dev: Questions | None = None
        self._targets: dict[str, Questions] = {}

    def singly(self, number: int) -> None:
        """Train one run through `train`."""
        folder, job = self.folder / f"run-{number:03}", self.stage.job(number)
        try:
            member = train_singly(self.prepared, job, folder, self._steps(1), targets=self.stage.targets)
        except NotFiniteError as error:
            self._bad(number, str(error).partition(";")[0])
        else:
            self.stage.keep(number, member)

    def together(self, numbers: Sequence[int]) -> None:
        """Train runs of one seed as one; if the memory is too small, halves of them."""
        try:
            trained = self._train([self.stage.job(number) for number in numbers])
        except torch.OutOfMemoryError:
            if len(numbers) == 1:
                raise
            trained = None
        if trained is None:  # outside of `except`, which would hold on to the tensors of the step that failed
            torch.cuda.empty_cache()
            logger.warning("%d models at once do not fit into the memory; trying half as many.", len(numbers))
            middle = len(numbers) // 2
            for half in (numbers[:middle], numbers[middle:]):
                self.together(half)
            return
        for number, member in zip(numbers, trained, strict=True):
            if member.diverged:
                self._bad(number, f"from step {member.diverged} on")
            else:
                self.stage.keep(number, member)

    def _train(self, jobs: Sequence[Job]) -> list[TrainedMember]:
        prepared, device, rows = self.prepared, self.device, self.prepared.train.rows
        specs, seed = [job.spec for job in jobs], jobs[0].spec.seed
        padding = prepared.encoder.tokenizer.pad_token_id or 0
        if self._dev is None:
            self._dev = Questions(prepared.dev, padding, device)
            asked = prepared.targets if self.stage.targets else {}
            self._targets = {name: Questions(examples, padding, device) for name, examples in asked.items()}
        ensemble = start_ensemble(prepared.encoder.model, specs, prepared.task, rows, padding, device)
        if prepared.settings.machine.compile:
            ensemble.encoder.compile()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            return train_ensemble(
                ensemble,
                DeviceRows(rows, padding, device),
                self._dev,
                self._targets,
                prepared.settings.changed(seed=seed),
                pairs=[job.rates for job in jobs],
                on_step=self._steps(len(jobs)),
            )

    def _bad(self, number: int, since: str) -> None:
        self.bad[number] = since
        self.stage.diverged(number)

    def _steps(self, models: int) -> Callable[[int], None]:
        return lambda done: self.progress(self.stage.name, models * done, self._total)
