"""The sweep with fine-tuning: every run trains an encoder of its own, many of them side by side in the same kernels."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch

from dlfa_adapters.errors import ConfigError, RunError
from dlfa_adapters.evaluation.progress import Progress
from dlfa_adapters.sweep.ensemble_batches import DeviceRows
from dlfa_adapters.sweep.ensemble_encoder import why_not_stackable
from dlfa_adapters.sweep.ensemble_predict import Questions
from dlfa_adapters.sweep.ensemble_start import start_ensemble
from dlfa_adapters.sweep.ensemble_training import TrainedMember, rates, train_ensemble
from dlfa_adapters.sweep.finetuned_files import RowFiles
from dlfa_adapters.sweep.finetuned_memory import how_many_at_once
from dlfa_adapters.sweep.finetuned_ranks import Ranks, own_device
from dlfa_adapters.sweep.finetuned_singly import train_singly
from dlfa_adapters.sweep.prepare import Prepared
from dlfa_adapters.sweep.results import SweepRow
from dlfa_adapters.training.finite import NotFiniteError

logger = logging.getLogger(__name__)


def finetuned_sweep(
    prepared: Prepared,
    folder: Path,
    *,
    at_once: int | None = None,
    note: Callable[[str], None] = logger.info,
    progress: Progress | None = None,
) -> list[SweepRow]:
    """Train every head of a sweep with an encoder of its own, and score each after every epoch.

    Runs of one seed see the same batches in the same order, so that they can be compared pair by pair, and each is, up
    to rounding and the random numbers of dropout, the run that `train` with its options and seed would be. With the
    tuning `full`, encoders of the BERT family are stacked: M of them are trained in the same kernels. Others are
    trained one after another. Under `torchrun` each process takes the next ones that nobody has taken; all of them must
    see `folder`.

    Args:
        prepared: What to train and score.
        folder: Where each finished run has a file. What is there already and fits is not trained again.
        at_once: How many models to train side by side; None: as many as fit into the GPU's memory, one on a CPU.
        note: Called with a sentence that says what is done.
        progress: Called after each step; a step of M models counts M.

    Returns:
        The rows in the order of `prepared.specs`, in every process.

    Raises:
        ConfigError: If an option cannot work in a sweep.
        RunError: If trainings have diverged; the others are kept in the folder.
    """
    settings = prepared.settings
    if settings.every is not None or settings.patience:
        raise ConfigError("A sweep scores every run after each epoch; leave --every and --patience out.")
    files, ranks, device = RowFiles(folder, prepared), Ranks(), own_device()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    why_not = _why_not_stacked(prepared)

    def plan() -> list[list[int]]:
        missing = files.missing()
        size = 1 if why_not else how_many_at_once(prepared, max(1, len(missing)), device, at_once)
        return _stacks(prepared, missing, min(size, -(-max(1, len(missing)) // ranks.size)))

    stacks: list[list[int]] = ranks.agree(plan)
    todo, there = sum(map(len, stacks)), len(prepared.specs) - sum(map(len, stacks))
    how = f"one after another: {why_not}" if why_not else f"{max(map(len, stacks), default=0)} at once"
    note(f"{todo} runs, {how}" + (f"; {there} are there already." if there else "."))
    work = _Work(prepared, files, device, progress or (lambda stage, done, total: None), -(-todo // ranks.size))
    while (number := ranks.take()) < len(stacks):
        if why_not:
            work.singly(stacks[number][0])
        else:
            work.together(stacks[number])
    ranks.wait()
    if missing := files.missing():
        raise RunError(
            f"Loss or gradient is no longer a finite number in {', '.join(map(work.describe, missing))}; the other "
            "runs are kept. Type a smaller --lr or --head-lr, or --precision fp32."
        )
    return [row for number in range(len(prepared.specs)) if (row := files.read(number)) is not None]


def _why_not_stacked(prepared: Prepared) -> str | None:
    """Why the runs are trained one after another; None if they are stacked."""
    settings = prepared.settings
    if prepared.tuning.name != "full":
        return f"only --tuning full is stacked, not {prepared.tuning}"
    if settings.precision == "fp16" or settings.gradient_checkpointing or settings.classifier != "linear":
        return "fp16, gradient checkpointing and other classifiers than a linear one are not stacked"
    if settings.micro_batch_size != settings.batch_size:
        return "batches that are added up from smaller ones are not stacked"
    return why_not_stackable(prepared.encoder.model)


def _stacks(prepared: Prepared, numbers: Sequence[int], size: int) -> list[list[int]]:
    """Runs of one seed, at most `size` at once, in parts of about equal size."""
    stacks = []
    for seed in dict.fromkeys(prepared.specs[number].seed for number in numbers):
        group = [number for number in numbers if prepared.specs[number].seed == seed]
        parts = -(-len(group) // size)
        bounds = [len(group) * part // parts for part in range(parts + 1)]
        stacks += [group[a:b] for a, b in pairwise(bounds)]
    return stacks


class _Work:
    """What a process trains.

    Args:
        prepared: The sweep.
        files: Where finished runs go.
        device: Where to train.
        progress: See `finetuned_sweep`.
        runs: About how many runs this process trains.

    Attributes:
        diverged: By number, since when loss or gradient of a run were no finite numbers.
    """

    def __init__(
        self, prepared: Prepared, files: RowFiles, device: torch.device, progress: Progress, runs: int
    ) -> None:
        self.prepared, self.files, self.device, self.progress = prepared, files, device, progress
        self.diverged: dict[int, str] = {}
        self._total = runs * rates(prepared.settings, len(prepared.train.rows)).steps
        self._dev: Questions | None = None
        self._targets: dict[str, Questions] = {}

    def singly(self, number: int) -> None:
        """Train one run through `train`."""
        folder = self.files.folder / f"run-{number:03}"
        try:
            member = train_singly(self.prepared, self.prepared.specs[number], folder, self._steps(1))
        except NotFiniteError as error:
            self.diverged[number] = str(error).partition(";")[0]
        else:
            self._keep(number, member)

    def together(self, numbers: Sequence[int]) -> None:
        """Train runs of one seed as one; if the memory is too small, halves of them."""
        try:
            trained = self._train(numbers)
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
            self._keep(number, member)

    def _train(self, numbers: Sequence[int]) -> list[TrainedMember]:
        prepared, device, rows = self.prepared, self.device, self.prepared.train.rows
        specs = [prepared.specs[number] for number in numbers]
        padding = prepared.encoder.tokenizer.pad_token_id or 0
        if self._dev is None:
            self._dev = Questions(prepared.dev, padding, device)
            self._targets = {name: Questions(asked, padding, device) for name, asked in prepared.targets.items()}
        ensemble = start_ensemble(prepared.encoder.model, specs, prepared.task, rows, padding, device)
        if prepared.settings.compile:
            ensemble.encoder.compile()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(specs[0].seed)
            return train_ensemble(
                ensemble,
                DeviceRows(rows, padding, device),
                self._dev,
                self._targets,
                replace(prepared.settings, seed=specs[0].seed),
                on_step=self._steps(len(numbers)),
            )

    def describe(self, number: int) -> str:
        """A run that has no row."""
        spec, since = self.prepared.specs[number], self.diverged.get(number)
        return f"{spec.name} (seed {spec.seed}{f': {since}' if since else ''})"

    def _steps(self, models: int) -> Callable[[int], None]:
        return lambda done: self.progress("Training", models * done, self._total)

    def _keep(self, number: int, member: TrainedMember) -> None:
        """Write the row of a run, unless it has diverged."""
        if member.diverged:
            self.diverged[number] = f"from step {member.diverged} on"
            return
        row = SweepRow(
            spec=member.spec,
            epoch=member.epoch,
            dev=member.dev_scores,
            languages=member.watched,
            counts={language: counts.numpy() for language, counts in member.counts.items()},
        )
        self.files.write(number, row)
