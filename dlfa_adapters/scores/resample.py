"""From counts of items to scores on resamples: of several models or trainings, in several languages, on the same draws.

The items of a language are drawn anew, as many as there are. Translations of each other are drawn together: a resample
of parallel data draws ids, and every language takes its own items of them, so that what makes an item hard in all
languages moves them together (a cluster bootstrap, the id being the cluster; Cameron, Gelbach and Miller 2008,
"Bootstrap-Based Improvements for Inference with Clustered Errors"). Items without a partner are drawn as those of a
language by itself.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.metric import CountedScore
from dlfa_adapters.scores.intervals import Estimate, Paired, mean_of_defined
from dlfa_adapters.scores.translations import Translations

RESAMPLES = 1000
TOGETHER = "\0together"  # no language is called so: the random numbers of the items that are drawn together
_DRAWS = 500_000  # items drawn in one step: a few MB


@dataclass(frozen=True)
class Scored:
    """A score of one model or several, in a language or as a mean over languages; NaN where it is not defined.

    Attributes:
        values: The scores, (models,).
        samples: What they are in each resample, the same for all models, (resamples, models).
        items: How many items there are; of several languages, in the one with the most.
    """

    values: np.ndarray
    samples: np.ndarray
    items: int

    def estimate(self, model: int = 0) -> Estimate:
        """The score of a model with its interval."""
        return Estimate.of(self.values[model], self.samples[:, model], self.items)

    def pair(self, a: int, b: int) -> Paired:
        """Two models side by side."""
        samples = self.samples[:, b] - self.samples[:, a]
        return Paired(float(self.values[a]), float(self.values[b]), samples, self.items)

    @classmethod
    def mean(cls, languages: Sequence["Scored"]) -> "Scored":
        """The mean over languages, for each model over those in which it has a score."""
        values, samples = (np.stack([getattr(x, name) for x in languages], axis=-1) for name in ("values", "samples"))
        return cls(mean_of_defined(values), mean_of_defined(samples), max(x.items for x in languages))

    def over(self, groups: Sequence[Sequence[int]]) -> "Scored":
        """The means over models that belong together, such as the seeds of a head, one a group."""
        values = [mean_of_defined(self.values[list(group)]) for group in groups]
        samples = [mean_of_defined(self.samples[:, list(group)]) for group in groups]
        return Scored(np.array(values), np.stack(samples, axis=1), self.items)


def resample_scores(
    counts: Mapping[str, Sequence[Sequence[np.ndarray]]],
    scores: Sequence[CountedScore],
    translations: Translations | None,
    resamples: int,
    seed: int,
) -> dict[str, list[Scored]]:
    """Every score of every model in every language, on the same resamples.

    Args:
        counts: By language, for each score and model what the score is a function of, (items, counts).
        scores: The scores.
        translations: See `resample_languages`.
        resamples: How many times to draw.
        seed: Of the random numbers.

    Returns:
        By language, for each score.

    Raises:
        ConfigError: If `resamples` or `seed` is out of range.
    """
    joined = {x: np.concatenate([part for each in parts for part in each], axis=1) for x, parts in counts.items()}
    sums = resample_languages(joined, translations, resamples, seed)
    by_language: dict[str, list[Scored]] = {}
    for language, by_score in counts.items():
        widths = [part.shape[1] for each in by_score for part in each]
        drawn = iter(_blocks(sums[language].values, widths))
        by_language[language] = []
        for score, parts in zip(scores, by_score, strict=True):
            values = np.array([float(score.score(part.sum(axis=0))) for part in parts])
            samples = np.stack([score.score(next(drawn)) for _ in parts], axis=1)
            by_language[language].append(Scored(values, draw_again(samples, sums[language].random), len(parts[0])))
    return by_language


@dataclass(frozen=True)
class Sums:
    """The resampled sums of a language.

    Attributes:
        values: (resamples, counts).
        random: Its random numbers, for `draw_again`.
    """

    values: np.ndarray
    random: np.random.Generator


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
    # What is drawn is a key, and with it its items in all languages: `together` has a row for each key, the languages'
    # counts side by side, 0 where a language has no such item.
    unit = {key: i for i, key in enumerate(sorted({k for x in counts for k in translations.keys[x] if k is not None}))}
    rows = {x: np.array([-1 if key is None else unit[key] for key in translations.keys[x]]) for x in counts}
    widths = [part.shape[1] for part in counts.values()]
    together = np.zeros((len(unit), sum(widths)))
    for (language, part), block in zip(counts.items(), _blocks(together, widths), strict=True):
        shared = rows[language] >= 0
        np.add.at(block, rows[language][shared], part[shared])  # writes into `together`; items of one key add up
    drawn = _blocks(resampled_sums(together, resamples, generator(seed, TOGETHER)), widths)
    by_language = {}
    for (language, part), sums in zip(counts.items(), drawn, strict=True):
        # items without a translation: drawn for their language alone, and added
        alone = part[rows[language] < 0]
        by_language[language] = Sums(sums + resampled_sums(alone, resamples, random[language]), random[language])
    return by_language


def generator(seed: int, language: str) -> np.random.Generator:
    """The random numbers of a language: the same whatever other languages are looked at, and in whichever order.

    Raises:
        ConfigError: If the seed is negative.
    """
    if seed < 0:
        raise ConfigError(f"expected a seed from 0 up, got {seed}.")
    return np.random.default_rng([seed, zlib.crc32(language.encode())])


def resampled_sums(counts: np.ndarray, resamples: int, random: np.random.Generator) -> np.ndarray:
    """Sums of counts over items drawn with replacement, as many as there are.

    Args:
        counts: (items, counts). What shall be drawn together, such as two models' counts of the same item, stands in
            one row.
        resamples: How many times to draw.
        random: Random numbers.

    Returns:
        (resamples, counts).

    Raises:
        ConfigError: If `resamples` is smaller than one.
    """
    if resamples < 1:
        raise ConfigError(f"expected at least one resample, got {resamples}; type resamples={RESAMPLES}.")
    items, width = counts.shape
    sums = np.zeros((resamples, width))
    if not items:
        return sums
    step = max(1, _DRAWS // items)
    values = counts.astype(np.float64)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(items, size=(rows, items)) + items * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * items).reshape(rows, items)  # how often each item was drawn
        sums[start : start + rows] = times @ values
    return sums


def draw_again(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draws anew where a resample has no score, e.g. because no sentence in it has an entity.

    What is drawn is another resample of the same data, in which all models have a score, so that models are compared on
    the same resamples, and a mean over languages is always over the same languages.

    Args:
        samples: (resamples, models), NaN where a score is not defined.
        random: Random numbers.

    Returns:
        The samples without NaN, but for a model that has no score in any resample; as they were where no resample has
        all scores.
    """
    undefined = np.isnan(samples)
    missing = (undefined & ~undefined.all(axis=0)).any(axis=1)
    if missing.any() and not missing.all():
        samples = samples.copy()
        samples[missing] = samples[random.choice(np.flatnonzero(~missing), size=int(missing.sum()))]
    return samples


def _blocks(values: np.ndarray, widths: list[int]) -> list[np.ndarray]:
    """The columns of each language, or of each score; views."""
    return np.split(values, np.cumsum(widths)[:-1], axis=1)
