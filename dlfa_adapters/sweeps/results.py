"""What a sweep found: every head or model, seed, epoch and language; the same for frozen and fine-tuned encoders."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlfa_adapters.learning.frozen import HeadSpec, TrainedHead
from dlfa_adapters.learning.rate_choice import UNKNOWN, Choice
from dlfa_adapters.scores.translations import Translations
from dlfa_adapters.tasks import Task

BASELINE = "last"
"""Name of the baseline in every sweep: the last layer alone."""


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """One training of a sweep: a head, or a whole model with it, from one seed.

    Attributes:
        spec: What was trained; name and seed together occur once in a sweep.
        epoch: The epoch whose weights were kept, from 1; chosen on the dev data of the source language.
        dev: The source dev score after each epoch, in percent.
        languages: By language, the score after each epoch, in percent; they choose nothing.
        counts: By language, what the score of the kept epoch is a function of, (items, counts): one row an item in the
            order of the data, as `evaluation.scores.CountedScore.counts` gives. The bootstrap resamples the rows.
        loss: The source dev loss of the kept epoch; infinite where it is not known.
        rates: The learning rates, and what they were chosen from; chosen on the source dev data too.
    """

    spec: HeadSpec
    epoch: int
    dev: list[float]
    languages: dict[str, list[float]]
    counts: dict[str, np.ndarray] = field(default_factory=dict)
    loss: float = math.inf
    rates: Choice = UNKNOWN

    @classmethod
    def of(cls, head: TrainedHead, rates: Choice) -> "SweepRow":
        """The row of a training, of a head or of a whole model, with its learning rates."""
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
        """The source dev score of the kept epoch."""
        return self.dev[self.epoch - 1]

    def scores(self) -> dict[str, float]:
        """Language to score of the kept epoch."""
        return {language: values[self.epoch - 1] for language, values in self.languages.items()}


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """A whole sweep.

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

    def variants(self) -> dict[str, list[SweepRow]]:
        """Rows that differ in the seed alone, by name, in the order of the table."""
        found: dict[str, list[SweepRow]] = {}
        for row in self.rows:
            found.setdefault(row.spec.name, []).append(row)
        return found

    def best(self) -> SweepRow:
        """The row with the best source dev score of the variant whose mean dev score over seeds is best.

        Among equal ones the lower dev loss decides.
        """
        variants = self.variants().values()
        best = max(variants, key=lambda rows: (_mean([row.dev_score for row in rows]), -_mean([r.loss for r in rows])))
        return max(best, key=lambda row: (row.dev_score, -row.loss))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
