"""How the learning rates of a sweep's variants are chosen: what is tried, what came of it, and the choice.

Every attempt has a file, complete or not there, beside the finished trainings. Where encoders are fine-tuned an attempt
is a whole training with the first seed, so the best one is that seed's, and is not trained again.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Attempt, Pair, RateChoice, choose_rates
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.sweeps.trainings import RowFiles, SweepRow
from dlfa_adapters.tuning import Tuning

HEAD_RATE = 1e-3
"""Tried in a sweep where a head would learn at the encoder's rate, which is small for weights that start at random."""


def with_head_rates(resolved: Settings, given: Settings, tuning: Tuning) -> Settings:
    """Settings in which a head that would learn at the encoder's rate has another rate to try.

    Args:
        resolved: All settings.
        given: Those that the user gave: where a rate of the head or several of the encoder are among them, nothing is
            added.
        tuning: What learns beside the heads.
    """
    defaults, steps, rate = tuning.defaults_for(given.head.classifier), given.steps, resolved.steps.learning_rate
    chosen = steps.head_learning_rate or steps.head_learning_rates is not None or steps.learning_rates
    if chosen or tuning.on_states or defaults.head_learning_rate != defaults.learning_rate or not rate:
        return resolved
    return resolved.changed(head_learning_rates=(rate, HEAD_RATE) if rate != HEAD_RATE else ())


class Job(NamedTuple):
    """A training of a sweep.

    Attributes:
        spec: The head, with the seed.
        rates: The learning rates.
    """

    spec: HeadSpec
    rates: Pair


class Choices:
    """Attempts and choices of a sweep, beside its finished trainings.

    Args:
        files: The sweep's trainings.
        tried: From `pairs`.
        seed: The first one, with which every variant is tried.
    """

    def __init__(self, files: RowFiles, tried: Sequence[Pair], seed: int) -> None:
        self.files, self.pairs, self.seed = files, list(tried), seed

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

    def keep_row(self, job: Job, row: SweepRow) -> None:
        """Keep the scores of an attempt, which are those of the first seed if it is the best one."""
        self.files.attempt(*job).write(0, row)

    def take_best(self) -> None:
        """Make the best attempts the trainings of the first seed, and delete the scores of the others."""
        for number in self.files.missing():
            spec = self.files.specs[number]
            if spec.seed == self.seed:
                choice = self.of(spec)
                row = self.files.attempt(spec, choice.rates).read(0)
                if row is not None:
                    self.files.write(number, replace(row, rates=choice))
        for job in self.jobs(self.files.specs):
            self.files.attempt(*job).delete(0)

    def of(self, spec: HeadSpec) -> RateChoice:
        """The rates of a head, all attempts for which are finished."""
        jobs = self.jobs([spec])
        if not jobs:
            return RateChoice(self.pairs[0])
        attempts = [self.read(job) for job in jobs]
        assert None not in attempts, f"attempts for {spec.name} are missing"
        return choose_rates([attempt for attempt in attempts if attempt is not None])

    def _path(self, job: Job) -> Path:
        return self.files.folder / f"rates-{self.files.key_of(job.spec)}-{self.pairs.index(job.rates)}.json"
