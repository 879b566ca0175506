"""Resamples of several languages at once: translations of each other are drawn together, all else by language.

A resample of parallel data draws ids, as many as there are, and every language takes its own items of them, so that
what makes an item hard in all languages moves them together (a cluster bootstrap, the id being the cluster; Cameron,
Gelbach and Miller 2008, "Bootstrap-Based Improvements for Inference with Clustered Errors"). Items without a partner
are drawn as those of a language by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dlfa_adapters.scores.intervals import draw_again, generator, resampled_sums
from dlfa_adapters.scores.translations import Translations

TOGETHER = "\0together"  # no language is called so: the random numbers of the items that are drawn together


@dataclass(frozen=True)
class Sums:
    """The resampled sums of a language.

    Attributes:
        values: (resamples, counts).
        random: Its random numbers, for `again`.
    """

    values: np.ndarray
    random: np.random.Generator

    def again(self, samples: np.ndarray) -> np.ndarray:
        """See `intervals.draw_again`; a single score a resample."""
        return draw_again(samples, self.random)


def resample_languages(
    counts: Mapping[str, np.ndarray], translations: Translations | None, resamples: int, seed: int
) -> dict[str, Sums]:
    """Draw the items of all languages anew.

    Args:
        counts: By language, (items, counts).
        translations: Which items are translations of each other; None where none are.
        resamples: How many times to draw.
        seed: Of the random numbers. A language without translations has numbers of its own: they depend on no other.

    Returns:
        The sums by language.

    Raises:
        ConfigError: If `resamples` or `seed` is out of range.
    """
    random = {language: generator(seed, language) for language in counts}
    if translations is None or not translations.drawn.together:
        return {x: Sums(resampled_sums(part, resamples, random[x]), random[x]) for x, part in counts.items()}
    unit = {key: i for i, key in enumerate(sorted({k for x in counts for k in translations.keys[x] if k is not None}))}
    rows = {x: np.array([-1 if key is None else unit[key] for key in translations.keys[x]]) for x in counts}
    widths = [part.shape[1] for part in counts.values()]
    together = np.zeros((len(unit), sum(widths)))
    for (language, part), block in zip(counts.items(), _blocks(together, widths), strict=True):
        shared = rows[language] >= 0
        np.add.at(block, rows[language][shared], part[shared])
    drawn = _blocks(resampled_sums(together, resamples, generator(seed, TOGETHER)), widths)
    found = {}
    for (language, part), sums in zip(counts.items(), drawn, strict=True):
        alone = part[rows[language] < 0]
        found[language] = Sums(sums + resampled_sums(alone, resamples, random[language]), random[language])
    return found


def _blocks(values: np.ndarray, widths: list[int]) -> list[np.ndarray]:
    """The columns of each language; views."""
    return np.split(values, np.cumsum(widths)[:-1], axis=1)
