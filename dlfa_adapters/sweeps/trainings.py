"""The trainings of a sweep, of frozen and of fine-tuned encoders alike: what each gave, and a file for each.

A file is complete or not there, so that a sweep that was killed goes on where it was. Attempts at learning rates have
files too. Where encoders are fine-tuned an attempt is a full training with the first seed, so the best one is that
seed's, and is not trained again.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.ground.tensors import save_tensors
from dlfa_adapters.learning.frozen import HeadSpec, TrainedHead
from dlfa_adapters.learning.frozen.optimizer import read_or_delete
from dlfa_adapters.learning.rate_choice import UNKNOWN, Attempt, Pair, RateChoice, choose_rates
from dlfa_adapters.scores.translations import Translations
from dlfa_adapters.tasks import Task

if TYPE_CHECKING:
    from dlfa_adapters.sweeps.prepare import Prepared


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """One training of a sweep: a head, or a full model with it, from one seed.

    Attributes:
        spec: What was trained; name and seed together occur once in a sweep.
        epoch: The epoch of the best weights, from 1; chosen on the dev data of the source language.
        dev: The source dev score after each epoch, in percent.
        languages: By language, the score after each epoch, in percent; they choose nothing.
        counts: By language, what the score of the best epoch is a function of, (items, counts): one row an item in the
            order of the data, as `CountedScore.counts` gives. The bootstrap resamples the rows.
        loss: The source dev loss of the best epoch; infinite where it is not known.
        rates: The learning rates, and what they were chosen from; chosen on the source dev data too.
    """

    spec: HeadSpec
    epoch: int
    dev: list[float]
    languages: dict[str, list[float]]
    counts: dict[str, np.ndarray] = field(default_factory=dict)
    loss: float = math.inf
    rates: RateChoice = UNKNOWN

    @classmethod
    def of(cls, head: TrainedHead, rates: RateChoice) -> "SweepRow":
        """The row of a training, of a head or of a full model, with its learning rates."""
        return cls(
            spec=head.spec,
            epoch=head.epoch,
            dev=head.dev_scores,
            languages=head.watched,
            counts={language: counts.numpy() for language, counts in head.counts.items()},
            loss=head.epochs[0].loss,
            rates=rates,
        )

    @property
    def dev_score(self) -> float:
        """The source dev score of the best epoch."""
        return self.dev[self.epoch - 1]

    def scores(self) -> dict[str, float]:
        """Language to score of the best epoch."""
        return {language: values[self.epoch - 1] for language, values in self.languages.items()}


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """The results of a sweep.

    Attributes:
        task: The task, with the labels of the heads.
        tuning: What learnt beside the heads: `features` (nothing), `full`, ...
        num_layers: Number of blocks L of the encoder; `D_L` is the control.
        sources: Languages trained on.
        rows: The trainings: variants in the order of the table, the seeds of each one after the other.
        about: Encoder, data, settings, versions, seconds: what a file says of it beside the scores.
        translations: Which items are translations of each other, in the order of `SweepRow.counts`; None where none are
            looked for.
    """

    task: Task
    tuning: str
    num_layers: int
    sources: Sequence[str]
    rows: list[SweepRow]
    about: dict[str, Any] = field(default_factory=dict)
    translations: Translations | None = None

    @property
    def control(self) -> str:
        """Name of the control: the last layer fused with itself."""
        return f"D_{self.num_layers}"

    @property
    def languages(self) -> list[str]:
        """The languages scored, in the order of the data."""
        return list(self.rows[0].languages)

    @property
    def judged_in(self) -> Any:
        """The language of the dev data, or a list of several; where the file does not say it, those trained on."""
        return self.about.get("data", {}).get("dev", {}).get("language", self.sources)

    def variants(self) -> dict[str, list[SweepRow]]:
        """Rows that differ in the seed alone, by name, in the order of the table."""
        by_name: dict[str, list[SweepRow]] = {}
        for row in self.rows:
            by_name.setdefault(row.spec.name, []).append(row)
        return by_name

    def best(self) -> SweepRow:
        """The row with the best source dev score of the variant whose mean dev score over seeds is best.

        Among equal ones the lower dev loss decides.
        """
        variants = self.variants().values()
        best = max(variants, key=lambda rows: (fmean(row.dev_score for row in rows), -fmean(row.loss for row in rows)))
        return max(best, key=lambda row: (row.dev_score, -row.loss))


class RowFiles:
    """The finished trainings of a sweep, in a folder, which is made with the first one.

    A file holds scores and counts of one training and a hash of all that it depends on. One that was written for other
    data, settings or another encoder does not count; one that is damaged is deleted, with a warning.
    """

    def __init__(self, folder: Path, prepared: "Prepared") -> None:
        self.folder, self.specs = folder, prepared.specs
        settings = prepared.decisive_settings()
        described = [prepared.encoder.describe(), prepared.data, settings, str(prepared.tuning), prepared.task.labels]
        self._sweep = json.dumps(described, sort_keys=True, default=str)

    def missing(self) -> list[int]:
        """Numbers of the trainings that have no file yet."""
        return [number for number in range(len(self.specs)) if self.read(number) is None]

    def read(self, number: int) -> SweepRow | None:
        """A finished training; None if it is not finished."""
        saved = read_or_delete(self.path(number), "that training runs again")
        if saved is None or saved[1]["identity"] != self._identity(self.specs[number]):
            return None
        tensors, about = saved
        counts = {language: tensors[str(i)].numpy() for i, language in enumerate(about["languages"])}
        scores = {name: about[name] for name in ("epoch", "dev", "loss", "languages")}
        return SweepRow(spec=self.specs[number], counts=counts, rates=RateChoice.from_dict(about["rates"]), **scores)

    def write(self, number: int, row: SweepRow) -> None:
        """Write a finished training."""
        about: dict[str, Any] = {"epoch": row.epoch, "dev": row.dev, "loss": row.loss, "languages": row.languages}
        about |= {"rates": row.rates.to_dict(), "identity": self._identity(self.specs[number])}
        counts = {str(i): torch.from_numpy(row.counts[language]) for i, language in enumerate(row.languages)}
        save_tensors(self.path(number), counts, about)

    def attempt(self, spec: HeadSpec, rates: Pair) -> "RowFiles":
        """The file of one training at rates that are only tried: its number is 0, and its name another one."""
        files = copy(self)
        files.specs, files._sweep = [spec], f"{self._sweep} {json.dumps(rates)}"
        return files

    def path(self, number: int) -> Path:
        """Its file."""
        return self.folder / f"training-{self.key(self.specs[number])}.safetensors"

    def key(self, spec: HeadSpec) -> str:
        """What tells a training from all others: the same wherever it stands in a sweep."""
        return self._identity(spec)[:16]

    def _identity(self, spec: HeadSpec) -> str:
        return hashlib.sha256(f"{self._sweep} {json.dumps(spec.record(), sort_keys=True)}".encode()).hexdigest()


class Job(NamedTuple):
    """A training of a sweep: a head, with the seed, and its learning rates."""

    spec: HeadSpec
    rates: Pair


class Choices:
    """Attempts and choices of a sweep, beside its finished trainings; every variant is tried with the first seed."""

    def __init__(self, files: RowFiles, pairs: list[Pair], seed: int) -> None:
        self.files, self.pairs, self.seed = files, pairs, seed

    def jobs(self, specs: Iterable[HeadSpec]) -> list[Job]:
        """All attempts for some heads; none where there is nothing to choose."""
        if len(self.pairs) == 1:
            return []
        first = dict.fromkeys(replace(spec, seed=self.seed) for spec in specs)
        return [Job(spec, pair) for spec in first for pair in self.pairs]

    def read(self, job: Job) -> Attempt | None:
        """A finished attempt; None if it is not finished."""
        try:
            return Attempt.from_dict(json.loads(self._path(job).read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, job: Job, attempt: Attempt) -> None:
        """Write an attempt down."""
        with write_whole(self._path(job)) as draft:
            draft.write_text(json.dumps(attempt.to_dict(), allow_nan=False) + "\n", "utf-8")

    def take_best(self) -> None:
        """Make the best attempts the trainings of the first seed, and delete the scores of the others."""
        for number in self.files.missing():
            if (spec := self.files.specs[number]).seed == self.seed:
                choice = self.of(spec)
                if (row := self.files.attempt(spec, choice.rates).read(0)) is not None:
                    self.files.write(number, replace(row, rates=choice))
        for job in self.jobs(self.files.specs):
            self.files.attempt(*job).path(0).unlink(missing_ok=True)

    def of(self, spec: HeadSpec) -> RateChoice:
        """The rates of a head, all attempts for which are finished."""
        if not (jobs := self.jobs([spec])):
            return RateChoice(self.pairs[0])
        attempts = [self.read(job) for job in jobs]
        assert None not in attempts, f"attempts for {spec.name} are missing"
        return choose_rates([attempt for attempt in attempts if attempt is not None])

    def _path(self, job: Job) -> Path:
        return self.files.folder / f"rates-{self.files.key(job.spec)}-{self.pairs.index(job.rates)}.json"
