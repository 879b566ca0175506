"""Scores of the same items by many systems, states and orders, with intervals; all of them on the same resamples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.intervals import Difference, Estimate, paired_differences
from dlfa_adapters.scores.resample import RESAMPLES, Scored, generator, resampled_sums

MEAN = "mean"
"""The name of the mean over pairs of languages."""


class Column(NamedTuple):
    """What a score is of.

    Attributes:
        system: A model, or a kind of word vectors.
        state: `0`..`L`, `fused`, or what is the one state of the system.
        order: How candidates are ordered, such as `csls` or `centred cosine`.
        measure: What is counted, such as `forward` or `mrr`.
    """

    system: str
    state: str
    order: str
    measure: str


@dataclass(frozen=True)
class Retrieval:
    """How well translations are found between two languages, or in the mean over several pairs of languages.

    Attributes:
        name: Of the pair of languages, or `mean`.
        items: What is looked for: pairs of sentences, or words; of several pairs of languages, all of them.
        columns: What there are scores of.
        scored: Their scores.
    """

    name: str
    items: int
    columns: tuple[Column, ...]
    scored: Scored

    def estimate(self, column: Column) -> Estimate:
        """A score with its interval."""
        return self.scored.estimate(self.columns.index(column))

    def value(self, column: Column) -> float:
        """A score."""
        return float(self.scored.values[self.columns.index(column)])

    def differences(self, compared: Sequence[tuple[Column, Column]]) -> list[Difference]:
        """The second minus the first of each, with intervals of the same resamples."""
        places = [(self.columns.index(a), self.columns.index(b)) for a, b in compared]
        return paired_differences([self.scored.pair(a, b) for a, b in places])

    def systems(self) -> list[str]:
        """The systems, in order."""
        return list(dict.fromkeys(column.system for column in self.columns))

    def states(self, system: str) -> list[str]:
        """The states of a system, in order."""
        return list(dict.fromkeys(column.state for column in self.columns if column.system == system))

    def orders(self, system: str) -> list[str]:
        """The orders of a system."""
        return list(dict.fromkeys(column.order for column in self.columns if column.system == system))

    def best(self, system: str, order: str, measure: str) -> str:
        """The state with the highest score; of equal ones the first."""
        return max(self.states(system), key=lambda state: self.value(Column(system, state, order, measure)))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: a row a system, state and order, its measures with intervals."""
        rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        for number, column in enumerate(self.columns):
            system, state, order, measure = column
            row = rows.setdefault(column[:3], {"system": system, "state": state, "order": order})
            row[measure] = asdict(self.scored.estimate(number))
        return {"name": self.name, "items": self.items, "scores": list(rows.values())}


def score_items(
    name: str,
    found: Mapping[Column, np.ndarray],
    weights: Mapping[str, np.ndarray],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Retrieval:
    """Scores from what was found for each item.

    A score is the sum of what was found over the sum of what there was to find. The items are drawn anew; what they are
    looked for among stays as it is, and so do the means that were taken off and the map that was learnt.

    Args:
        name: Of the pair of languages.
        found: For each column what was found of each item, (items,).
        weights: For each measure what there was to find of each item, (items,).
        resamples: Bootstrap resamples.
        seed: Of the bootstrap.

    Raises:
        ConfigError: If `resamples` or `seed` is out of range.
    """
    random, columns, measures = generator(seed, name), tuple(found), tuple(weights)
    counts = np.stack([*found.values(), *weights.values()], axis=1).astype(np.float64)
    place = [len(columns) + measures.index(column.measure) for column in columns]
    totals, drawn = counts.sum(0), resampled_sums(counts, resamples, random)
    with np.errstate(invalid="ignore"):  # 0 / 0 is not defined, and NaN
        values, samples = totals[: len(columns)] / totals[place], drawn[:, : len(columns)] / drawn[:, place]
    return Retrieval(name, len(counts), columns, Scored(values, samples, len(counts)))


def mean_over(retrievals: Sequence[Retrieval]) -> Retrieval:
    """The mean over pairs of languages, each of which counts alike; each is resampled by itself.

    Raises:
        ConfigError: If they have not the same systems, states, orders and measures.
    """
    if len({each.columns for each in retrievals}) != 1:
        raise ConfigError("expected the same systems, states and orders in all pairs of languages.")
    items = sum(each.items for each in retrievals)
    return Retrieval(MEAN, items, retrievals[0].columns, Scored.mean([each.scored for each in retrievals]))
