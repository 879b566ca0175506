"""What was tried for a sweep, a file for each attempt, by which a sweep that was killed goes on."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import Attempt, Choice, Pair, choose
from dlfa_adapters.sweeps.finetuned.files import RowFiles


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

    def of(self, spec: HeadSpec) -> Choice:
        """The rates of a head, all attempts for which are finished."""
        jobs = self.jobs([spec])
        if not jobs:
            return Choice(self.pairs[0])
        attempts = [self.read(job) for job in jobs]
        assert None not in attempts, f"attempts for {spec.name} are missing"
        return choose([attempt for attempt in attempts if attempt is not None])

    def _path(self, job: Job) -> Path:
        return self.files.folder / f"rates-{self.files.key_of(job.spec)}-{self.pairs.index(job.rates)}.json"
