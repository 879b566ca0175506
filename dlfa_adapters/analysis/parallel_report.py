"""What was measured on parallel sentences: each measure with its interval, and differences between states."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dlfa_adapters.analysis.similarity import MEASURES
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.intervals import Difference, Estimate, interval, p_value


@dataclass(frozen=True)
class StateReport:
    """How alike parallel sentences are in one kind of state.

    Attributes:
        state: `0`..`L` or `fused`.
        scores: Every measure of `MEASURES` with its interval.
        samples: The same of each resample, (resamples, measures).
        draws: Which resamples; states with the same can be compared.
    """

    state: str
    scores: dict[str, Estimate]
    samples: np.ndarray = field(repr=False)
    draws: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the resamples."""
        return {"state": self.state, "scores": {name: asdict(score) for name, score in self.scores.items()}}


@dataclass(frozen=True, kw_only=True)
class ParallelReport:
    """How alike parallel sentences are in the states of one model.

    Attributes:
        name: The run folder, or the encoder.
        fusion: What makes the fused state, such as `dlfa of layer 7`; None for an encoder alone.
        pairs: How many pairs of sentences.
        layers: The layers 0..L.
        fused: The fused state; None for an encoder alone.
    """

    name: str
    fusion: str | None
    pairs: int
    layers: list[StateReport]
    fused: StateReport | None

    @property
    def final(self) -> StateReport:
        """What a classifier reads: the fused state, or the last layer."""
        return self.fused or self.layers[-1]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        states = [state.to_dict() for state in (*self.layers, self.fused) if state is not None]
        return {"name": self.name, "fusion": self.fusion, "pairs": self.pairs, "states": states}


def state_report(state: str, values: np.ndarray, samples: np.ndarray, draws: str) -> StateReport:
    """The report of a state from the means over pairs, (measures,), and those of each resample."""
    scores = {
        name: Estimate(float(value), *interval(drawn))
        for name, value, drawn in zip(MEASURES, values, samples.T, strict=True)
    }
    return StateReport(state, scores, samples, draws)


def differences(a: StateReport, b: StateReport) -> dict[str, Difference]:
    """B minus A in every measure, with paired intervals: both states of the same resampled pairs.

    Raises:
        ConfigError: If they were measured on other pairs, or with other resamples.
    """
    if a.draws != b.draws:
        raise ConfigError(f"expected states of the same pairs and resamples, got {a.draws} and {b.draws}.")
    found = {}
    for number, name in enumerate(MEASURES):
        of_a, of_b = (report.scores[name].value or 0.0 for report in (a, b))
        drawn = b.samples[:, number] - a.samples[:, number]
        found[name] = Difference(of_a, of_b, of_b - of_a, *interval(drawn), p_value(drawn))
    return found
