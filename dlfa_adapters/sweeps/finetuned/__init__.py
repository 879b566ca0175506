"""The sweep with fine-tuning: every run trains an encoder of its own, many of them side by side in the same kernels."""

import logging
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import torch

from dlfa_adapters.ground.environment import Progress, is_main
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.ensemble.encoder import why_not_stackable
from dlfa_adapters.learning.ensemble.training import TrainedMember
from dlfa_adapters.learning.rate_choice import Attempt, RateChoice, pairs
from dlfa_adapters.sweeps.finetuned.ranks import Ranks, how_many_at_once, own_device
from dlfa_adapters.sweeps.finetuned.work import How, Stage, Work
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.trainings import Choices, Job, RowFiles, SweepRow

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
    tuning `full`, encoders of the BERT family are an ensemble: M of them are trained in the same kernels. Others are
    trained one after another. Where there are several learning rates, the first seed of each variant is trained at all
    of them, source dev chooses, and the best of these trainings is the first seed's, see `sweeps.trainings`. Under
    `torchrun` each process takes the next ones that nobody has taken; all of them must see `folder`.

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
    device = own_device()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    files = RowFiles(folder, prepared)
    choices = Choices(files, pairs(settings, frozen=False), settings.steps.seed)
    how = How(prepared, folder, device, at_once, note, progress or (lambda stage, done, total: None))
    attempts = choices.jobs(prepared.specs)
    if attempts:
        _share(how, _Attempts(attempts, choices, files))
        if is_main():  # the others meet it where it plans what is left
            choices.take_best()
    diverged = _share(how, _Rows(choices, files))
    if missing := files.missing():
        specs = {files.specs[number]: diverged.get(number) for number in missing}
        named = [f"{spec.name} (seed {spec.seed}{f': {since}' if since else ''})" for spec, since in specs.items()]
        raise RunError(
            f"Loss or gradient is no longer a finite number in {', '.join(named)}; the other "
            "runs are kept. Type a smaller --lr or --head-lr, or --precision fp32."
        )
    return [row for number in range(len(prepared.specs)) if (row := files.read(number)) is not None]


class _Attempts(Stage):
    """Training the first seed of each variant at all learning rates, of which source dev chooses."""

    name = "Trying learning rates"

    def __init__(self, jobs: Sequence[Job], choices: Choices, files: RowFiles) -> None:
        self.jobs, self.choices, self.files, self.count = jobs, choices, files, len(jobs)

    def job(self, number: int) -> Job:
        return self.jobs[number]

    def missing(self) -> list[int]:
        wanted = {job.spec for job in self.choices.jobs(self.files.specs[number] for number in self.files.missing())}
        return [i for i, job in enumerate(self.jobs) if job.spec in wanted and self.choices.read(job) is None]

    def keep(self, number: int, member: TrainedMember) -> None:
        job = self.jobs[number]
        self.files.attempt(*job).write(0, SweepRow.of(member, RateChoice(job.rates)))
        self.choices.write(job, Attempt.of(member, job.rates))

    def diverged(self, number: int) -> None:
        """Rates at which a training diverges are never better than those at which it does not."""
        self.choices.write(self.jobs[number], Attempt(self.jobs[number].rates, -math.inf, math.inf))


class _Rows(Stage):
    """Training every run at the rates of its variant."""

    name = "Training"

    def __init__(self, choices: Choices, files: RowFiles) -> None:
        self.choices, self.files, self.count = choices, files, len(files.specs)

    def job(self, number: int) -> Job:
        spec = self.files.specs[number]
        return Job(spec, self.choices.of(spec).rates)

    def missing(self) -> list[int]:
        return self.files.missing()

    def keep(self, number: int, member: TrainedMember) -> None:
        row = SweepRow.of(member, self.choices.of(member.spec))
        self.files.write(number, row)

    def diverged(self, number: int) -> None:
        """A run that diverges has no row."""


def _share(how: How, stage: Stage) -> dict[int, str]:
    """Do what is missing of a stage, together with the other processes.

    Returns:
        By number, since when loss or gradient of a run were no finite numbers.
    """
    ranks, why_not = Ranks(), _why_not_stacked(how.prepared)

    def plan() -> list[list[int]]:
        missing = stage.missing()
        size = 1 if why_not else how_many_at_once(how.prepared, max(1, len(missing)), how.device, how.at_once)
        return _ensembles(stage, missing, min(size, -(-max(1, len(missing)) // ranks.size)))

    ensembles: list[list[int]] = ranks.agree(plan)
    todo = sum(map(len, ensembles))
    there = stage.count - todo
    order = f"one after another: {why_not}" if why_not else f"{max(map(len, ensembles), default=0)} at once"
    what = f"{todo} runs" if stage.name == _Rows.name else f"{stage.name}: {todo} runs"
    how.note(f"{what}, {order}" + (f"; {there} are there already." if there else "."))
    work = Work(how, stage, -(-todo // ranks.size))
    while (number := ranks.take()) < len(ensembles):
        if why_not:
            work.singly(ensembles[number][0])
        else:
            work.together(ensembles[number])
    ranks.wait()
    return work.bad


def _why_not_stacked(prepared: Prepared) -> str | None:
    """Why the runs are trained one after another; None if they are ensembles."""
    settings, kind = prepared.settings, kind_of_task(prepared.task)
    if not kind.label_a_unit:
        return f"a {kind.own_head} head is not stacked"
    if prepared.tuning.name != "full":
        return f"only --tuning full is stacked, not {prepared.tuning}"
    if (
        settings.machine.precision == "fp16"
        or settings.machine.gradient_checkpointing
        or settings.head.classifier != "linear"
    ):
        return "fp16, gradient checkpointing and other classifiers than a linear one are not stacked"
    if settings.machine.micro_batch_size != settings.steps.batch_size:
        return "batches that are added up from smaller ones are not stacked"
    if prepared.centring is not None:
        return "centred languages are not stacked"
    return why_not_stackable(prepared.encoder.model)


def _ensembles(stage: Stage, numbers: Sequence[int], size: int) -> list[list[int]]:
    """Runs of one seed, at most `size` at once, in parts of about equal size."""
    seeds = {number: stage.job(number).spec.seed for number in numbers}
    ensembles = []
    for seed in dict.fromkeys(seeds.values()):
        group = [number for number in numbers if seeds[number] == seed]
        parts = -(-len(group) // size)
        bounds = [len(group) * part // parts for part in range(parts + 1)]
        ensembles += [group[a:b] for a, b in pairwise(bounds)]
    return ensembles
