"""Word retrieval: at which rank a word's translation stands among the translations of a dictionary, in every layer.

Liu et al. 2020, arXiv 2004.09205, Equations 1 and 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.analysis.retrieval.linear_map import LinearMap, learn_map
from dlfa_adapters.analysis.retrieval.neighbours import NEIGHBOURS, neighbour_ranks
from dlfa_adapters.analysis.retrieval.scored import Column, score_items
from dlfa_adapters.analysis.retrieval.sentences import orders
from dlfa_adapters.analysis.retrieval.word_report import AT, MRR, Coverage, Words
from dlfa_adapters.data.dictionary import Dictionary
from dlfa_adapters.data.vectors import WordVectors
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.scores.resample import RESAMPLES

MAPPED = "mapped"

System = Mapping[str, WordVectors]
"""Vectors by language."""


def measure_words(
    systems: Mapping[str, System],
    dictionaries: Sequence[Dictionary],
    training: Sequence[Dictionary] = (),
    *,
    at: Sequence[int] = AT,
    neighbours: int = NEIGHBOURS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Words:
    """How well translations of words are found by vectors of several kinds.

    All systems are measured on the same pairs, those of which all of them have both words, and so are the candidates:
    the distinct translations of these pairs. A system that lacks a language of a dictionary has no part in it.

    - `mrr` is the mean over pairs of 1 / rank (Equation 2): of a word with two translations each is looked for.
    - `p@k` is the share of words of which any translation is among the k nearest, as MUSE has it (Conneau et al. 2018,
      arXiv 1710.04087).

    Args:
        systems: Vectors by name and language.
        dictionaries: What is looked for.
        training: Dictionaries of the same languages to learn a linear map on, for an order `mapped` beside the others.
            Pairs whose word is among those that are looked for are left out.
        at: The k of precision@k.
        neighbours: See `neighbour_ranks`.
        resamples: Bootstrap resamples of the words.
        seed: Of the bootstrap.

    Raises:
        ConfigError: If a number is out of range, two dictionaries are of the same languages, or one has no training
            dictionary where others have.
        DataError: If not two pairs of a dictionary are left, or a map has nothing to be learnt on.
        MissingExtraError: If a map is to be learnt and scipy is not installed.
    """
    _check(dictionaries, training, at)
    lessons = {each.languages: each for each in training}
    found = Words([], [])
    for dictionary in dictionaries:
        inside = {name: each for name, each in systems.items() if all(x in each for x in dictionary.languages)}
        if not inside:
            raise DataError(
                f"{dictionary.name}: expected vectors of both languages, but there are none of both; give --vectors or "
                f"--text for {' and '.join(dictionary.languages)}, or an encoder with --model"
            )
        pairs = [pair for pair in dictionary.pairs if all(_has(dictionary, system, pair) for system in inside.values())]
        if len(pairs) < 2:
            raise DataError(
                f"{dictionary.name}: expected two or more pairs of which every kind of vectors has both words, "
                f"got {len(pairs)} of {len(dictionary.pairs)}"
            )
        asked = _Asked.of(pairs)
        columns: dict[Column, np.ndarray] = {}
        for name, system in inside.items():
            sides = [system[language] for language in dictionary.languages]
            lesson = _lesson(lessons.get(dictionary.languages), dictionary, sides)
            if training and len(lesson) < 2:
                raise DataError(f"{dictionary.name}: {name} has no two pairs of the training dictionary for a map")
            for state in sides[0].states:
                first, second = sides[0].of(asked.words, state), sides[1].of(asked.candidates, state)
                mapped = {MAPPED: _learnt(sides, lesson, state)(first, second)} if training else {}
                for before, vectors in {**orders(first, second), **mapped}.items():
                    for score, ranks in neighbour_ranks(*vectors, asked.places, neighbours=neighbours).items():
                        column = Column(name, state, f"{before} {score}".strip(), "")
                        columns |= asked.found(column, ranks[:, 0], at)
            found.coverage.append(_coverage(name, dictionary, sides, len(pairs), len(lesson) if training else None))
        weights = asked.weights(at)
        found.retrievals.append(score_items(dictionary.name, columns, weights, resamples=resamples, seed=seed))
    return found


@dataclass(frozen=True)
class _Asked:
    """What is looked for.

    Attributes:
        words: The distinct words.
        candidates: Their distinct translations.
        places: Of each pair the word and the translation, (pairs, 2).
    """

    words: list[str]
    candidates: list[str]
    places: Tensor

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> "_Asked":
        words, candidates = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
        rows = [{word: row for row, word in enumerate(each)} for each in (words, candidates)]
        return cls(words, candidates, torch.tensor([[rows[0][a], rows[1][b]] for a, b in pairs]))

    def found(self, column: Column, ranks: Tensor, at: Sequence[int]) -> dict[Column, np.ndarray]:
        """Of each word, (words,): the sum of 1 / rank of its translations, and whether one of them is near enough."""
        word, rank = self.places[:, 0].numpy(), ranks.numpy()
        counts = {column._replace(measure=MRR): np.bincount(word, 1 / rank, minlength=len(self.words))}
        best = np.full(len(self.words), np.inf)
        np.minimum.at(best, word, rank)
        return counts | {column._replace(measure=f"p@{k}"): (best <= k).astype(float) for k in at}

    def weights(self, at: Sequence[int]) -> dict[str, np.ndarray]:
        """Of each word how many translations it has, and 1."""
        translations = np.bincount(self.places[:, 0].numpy(), minlength=len(self.words))
        return {MRR: translations, **dict.fromkeys((f"p@{k}" for k in at), np.ones(len(self.words)))}


def _check(dictionaries: Sequence[Dictionary], training: Sequence[Dictionary], at: Sequence[int]) -> None:
    if any(k < 1 for k in at) or not at:
        raise ConfigError(f"expected precision at 1 or more, got {', '.join(map(str, at)) or 'none'}; type --at 1.")
    for given in (dictionaries, training):
        if len({each.languages for each in given}) < len(given):
            names = ", ".join(each.name for each in given)
            raise ConfigError(f"expected one dictionary for a pair of languages, got {names}.")
    missing = [each.name for each in dictionaries if each.languages not in {other.languages for other in training}]
    if training and missing:
        raise ConfigError(f"expected a training dictionary for {missing[0]} too, got none; add it, or leave all out.")


def _has(dictionary: Dictionary, system: System, pair: tuple[str, str]) -> bool:
    return all(word in system[language].rows for language, word in zip(dictionary.languages, pair, strict=True))


def _lesson(training: Dictionary | None, dictionary: Dictionary, sides: Sequence[WordVectors]) -> list[tuple[str, str]]:
    """The pairs that a map is learnt on."""
    asked = set(dictionary.words(0))
    return [
        (a, b)
        for a, b in (training.pairs if training else ())
        if a not in asked and a in sides[0].rows and b in sides[1].rows
    ]


def _learnt(sides: Sequence[WordVectors], lesson: Sequence[tuple[str, str]], state: str) -> LinearMap:
    return learn_map(*(side.of([pair[number] for pair in lesson], state) for number, side in enumerate(sides)))


def _coverage(
    name: str, dictionary: Dictionary, sides: Sequence[WordVectors], measured: int, learnt_on: int | None
) -> Coverage:
    missing = [sum(word not in side.rows for word in dictionary.words(number)) for number, side in enumerate(sides)]
    covered = sum(a in sides[0].rows and b in sides[1].rows for a, b in dictionary.pairs)
    return Coverage(dictionary.name, name, len(dictionary.pairs), covered, missing[0], missing[1], measured, learnt_on)
