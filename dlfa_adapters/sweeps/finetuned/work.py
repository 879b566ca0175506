"""What a process trains of a sweep with fine-tuning: runs side by side, or one by itself."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import batch_logits
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning import Plan, train
from dlfa_adapters.learning.arguments import steps_of_epoch
from dlfa_adapters.learning.ensemble import start_ensemble
from dlfa_adapters.learning.ensemble.data import DeviceBatch, DeviceRows, Questions, in_precision
from dlfa_adapters.learning.ensemble.training import TrainedMember, train_ensemble
from dlfa_adapters.learning.frozen.head import Epoch, Rate
from dlfa_adapters.learning.safeguards import NotFiniteError
from dlfa_adapters.runs.lifecycle import remove_training
from dlfa_adapters.sweeps.finetuned.ranks import without_launcher
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.trainings import Job

logger = logging.getLogger(__name__)


class Stage(ABC):
    """Trainings that have numbers.

    Attributes:
        name: For the screen.
        count: How many there are.
    """

    name: str
    count: int

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


@dataclass(frozen=True)
class How:
    """How to train; see `finetuned_sweep`. Runs that are trained by themselves are in the folder while they are."""

    prepared: Prepared
    folder: Path
    device: torch.device
    at_once: int | None
    note: Callable[[str], None]
    progress: Progress


class Work:
    """What a process trains of a stage: about so many runs.

    Attributes:
        bad: By number, since when loss or gradient of a run were no finite numbers.
    """

    def __init__(self, how: How, stage: Stage, runs: int) -> None:
        self.how, self.prepared, self.stage = how, how.prepared, stage
        self.bad: dict[int, str] = {}
        self._total = runs * self.prepared.settings.steps.total(self.prepared.train.epoch_rows)
        self._dev: Questions | None = None
        self._targets: dict[str, Questions] = {}

    def singly(self, number: int) -> None:
        """Train one run through `train`."""
        folder, job = self.how.folder / f"run-{number:03}", self.stage.job(number)
        try:
            member = train_singly(self.prepared, job, folder, self._steps(1))
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
        prepared, device, rows = self.prepared, self.how.device, self.prepared.train.rows
        specs, seed = [job.spec for job in jobs], jobs[0].spec.seed
        padding = prepared.encoder.tokenizer.pad_token_id or 0
        if self._dev is None:
            self._dev = Questions(prepared.dev, padding, device)
            self._targets = {name: Questions(examples, padding, device) for name, examples in prepared.targets.items()}
        ensemble = start_ensemble(prepared.encoder.model, specs, prepared.task, rows, padding, device)
        if prepared.settings.machine.compile:
            ensemble.encoder.compile()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            return train_ensemble(
                ensemble,
                DeviceRows(rows, padding, device, prepared.train.mixture),
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
        return lambda number: self.how.progress(self.stage.name, models, self._total)


def train_singly(prepared: Prepared, job: Job, folder: Path, on_step: Callable[[int], None]) -> TrainedMember:
    """Train one model, and score it after each epoch; its checkpoints and its run are in a folder, which is deleted.

    Returns:
        The model's scores, without weights.

    Raises:
        NotFiniteError: If the training diverges.
    """
    request, settings = prepared.request, prepared.settings
    spec, rates = job
    watched = _Targets(prepared)
    in_epoch = steps_of_epoch(settings, prepared.train.epoch_rows)
    options = {**settings.as_dict(), **spec.head.keywords(), "seed": spec.seed}
    options |= {"learning_rate": rates.encoder, "learning_rates": (), "head_learning_rate": rates.head}
    options |= {"head_learning_rates": (), "min_steps": 0}  # as long as the others
    try:
        with without_launcher():
            run = train(
                request.task,
                train_data=request.train_data,
                dev_data=request.dev_data,
                language=request.language,
                labels=request.labels,
                model=request.model,
                tuning=str(prepared.tuning),
                out=folder,
                on_start=watched.start,
                on_step=on_step,
                on_epoch=watched.score,
                **request.reading.as_dict(),
                **options,
            )
    finally:
        remove_training(folder)
    scores = run.config["training"]["dev_scores"]
    number = -(-int(run.config["training"]["best"].split()[-1]) // in_epoch)  # `step 12`
    return TrainedMember(
        spec,
        Rate(rates.head, settings.steps.weight_decay),
        scores,
        [math.inf] * len(scores),
        watched.scores,
        [Epoch(number, scores[number - 1], {}, watched.counts[number - 1])],
    )


class _Targets:
    """The scores of a model in training on the target languages, after each epoch."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.scores: dict[str, list[float]] = {}
        self.counts: list[dict[str, Tensor]] = []
        self._questions: dict[str, Questions] = {}
        self._model: Any = None
        self._plan: Plan
        self._pad = prepared.encoder.tokenizer.pad_token_id or 0
        self._precision = str(prepared.settings.machine.precision)

    def start(self, plan: Plan) -> None:
        self._model, self._plan = plan.model, plan

    def score(self, epoch: int) -> None:
        labelled = kind_of_task(self.prepared.task).label_a_unit
        self._model.eval()
        counts = {}
        for language, examples in self.prepared.targets.items():
            with self._plan.reading(language):
                counts[language], score = self._by_label(language, examples) if labelled else self._by_metric(examples)
            self.scores.setdefault(language, []).append(score)
        self.counts.append(counts)
        self._model.train()

    def _by_label(self, language: str, examples: Examples) -> tuple[Tensor, float]:
        """Counts, (items, counts), and score of labels."""
        if language not in self._questions:
            self._questions[language] = Questions(examples, self._pad, self._model.device)
        questions = self._questions[language]
        ids = questions.ask(1, lambda batch: _logits(self._model, batch), self._precision)
        counts, [score] = questions.score(ids)
        return counts[0], score

    @torch.no_grad()
    def _by_metric(self, examples: Examples) -> tuple[Tensor, float]:
        """The same of a kind whose head gives more than labels."""
        metric = kind_of_task(examples.task).metrics(examples.task)[0]
        with in_precision(self._model.device, self._precision):
            predicted = examples.encoded.decode(batch_logits(self._model, examples.encoded, self._pad))
        counts = metric.item_counts(predicted, examples.gold)
        score = float(100 * metric.score_of_counts(counts.sum(0)))
        return torch.from_numpy(counts).to(torch.int32), 0.0 if math.isnan(score) else round(score, 4)


def _logits(model: Any, batch: DeviceBatch) -> Tensor:
    """Logits of a full model, (1, items, labels)."""
    types = {} if batch.types is None else {"token_type_ids": batch.types}
    logits: Tensor = model(input_ids=batch.ids, attention_mask=batch.mask, **types).logits
    return logits.flatten(0, -2)[None].float()
