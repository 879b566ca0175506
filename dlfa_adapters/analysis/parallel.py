"""How alike sentences and their translations are in every layer of a model, and behind its fusion.

A sentence is the mean of its states. Chen et al. 2022, arXiv 2205.08497, Table VI, with what it takes to read a cosine:
cosine against what, and who is the nearest; see `similarities`.
"""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.analysis.parallel_report import ParallelReport, state_report
from dlfa_adapters.analysis.states import FUSED, Opened, open_encoder, open_run, translated_states
from dlfa_adapters.data.pairs import read_parallel as read_parallel
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.runs import Run
from dlfa_adapters.scores.resample import RESAMPLES, generator, resampled_sums

_BLOCK = 1024  # sentences whose cosines with all translations are in memory at once
Pairs = Sequence[tuple[str, str]]


def measure_parallel(
    model: Any,
    tokenizer: Any,
    pairs: Pairs,
    *,
    name: str,
    fusion: str | None = None,
    max_length: int = 128,
    resamples: int = RESAMPLES,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> ParallelReport:
    """Compare sentences with their translations in every layer of a model and behind its fusion.

    Args:
        model: See `sentence_states`.
        tokenizer: Its fast tokenizer.
        pairs: Sentences and translations.
        name: What the report calls the model.
        fusion: What it calls the fusion.
        max_length: Most pieces of a sentence.
        resamples: Bootstrap resamples of the pairs.
        seed: Of the bootstrap.
        on_progress: Called with the number of sentences that were just done, of which there are two a pair.

    Returns:
        The report, with 95 % percentile intervals.

    Raises:
        DataError: If there are fewer than two pairs.
        ConfigError: If `resamples` or `max_length` is too small, or `seed` negative.
        RunError: If the model gives states that are not finite numbers.
    """
    random = generator(seed, "")
    first, second = translated_states(Opened(name, model, tokenizer, fusion, max_length), pairs, on_progress)
    if not first:
        raise DataError("expected two or more pairs of a sentence and its translation, got none")
    counts = np.stack([similarities(first[state], second[state]).numpy() for state in first], axis=1)
    drawn = resampled_sums(counts.reshape(len(pairs), -1), resamples, random).reshape(resamples, *counts.shape[1:])
    draws = f"{resamples} {seed} {zlib.crc32(repr(list(pairs)).encode()):08x}"
    reports = {
        state: state_report(state, values, samples, draws)
        for state, values, samples in zip(first, counts.mean(0), drawn.swapaxes(0, 1) / len(pairs), strict=True)
    }
    fused = reports.pop(FUSED, None)
    return ParallelReport(name=name, fusion=fusion, pairs=len(pairs), layers=list(reports.values()), fused=fused)


def measure_run(run: str | Path | Run, pairs: Pairs, **options: Any) -> ParallelReport:
    """`measure_parallel` of the model of a run, of any tuning, on the GPU where there is one.

    Args:
        run: A run folder.
        pairs: Sentences and translations.
        **options: `resamples`, `seed`, `on_progress`.

    Raises:
        RunError: If the folder is not a complete run; see `load_run`.
        DataError: If there are fewer than two pairs.
    """
    return measure_opened(open_run(run), pairs, **options)


def measure_encoder(name: str, pairs: Pairs, **options: Any) -> ParallelReport:
    """`measure_parallel` of an encoder as `load_encoder` loads it, on the GPU where there is one.

    Args:
        name: `offline`, a folder, or a name on the hub.
        pairs: Sentences and translations.
        **options: `max_length`, `resamples`, `seed`, `on_progress`.

    Raises:
        ConfigError: If there is no such model, or the hub cannot be reached.
        DataError: If there are fewer than two pairs.
    """
    return measure_opened(open_encoder(name), pairs, **options)


def measure_opened(opened: Opened, pairs: Pairs, **options: Any) -> ParallelReport:
    """The same of a model that `open_all` gives."""
    known = {"name": opened.name, "fusion": opened.fusion, "max_length": opened.max_length}
    return measure_parallel(opened.model, opened.tokenizer, pairs, **{**known, **options})


def similarities(first: Tensor, second: Tensor) -> Tensor:
    """Every measure of every pair.

    The mean of `cosine` is that of Chen et al. 2022, arXiv 2205.08497, Table VI. All states of a layer may lie in a
    narrow cone (Ethayarajh 2019, "How Contextual are Contextualized Word Representations?", arXiv 1909.00512), where
    any two sentences have a high cosine; hence `others`, over all pairs that are no translations, and `centred`, the
    cosine without what all sentences of a language have in common, the mean of its side. The share of nearest
    translations is how Artetxe and Schwenk 2019, arXiv 1812.10464, score Tatoeba.

    Args:
        first: Vectors of the sentences, (pairs, width).
        second: Vectors of their translations, likewise.

    Returns:
        (pairs, measures), in the order of `MEASURES`.

    Raises:
        DataError: If there are not as many of both, or fewer than two.
    """
    if len(first) != len(second) or len(first) < 2:
        raise DataError(
            f"expected two or more sentences, each with its translation; got {len(first)} and {len(second)}"
        )
    centred = torch.nn.functional.cosine_similarity(first - first.mean(0), second - second.mean(0), dim=1)
    first, second = (torch.nn.functional.normalize(side, dim=1) for side in (first, second))
    own, others, forward = _towards(first, second)
    _, others_back, backward = _towards(second, first)
    others = (others + others_back) / 2
    return torch.stack([own, others, own - others, centred, forward, backward, (forward + backward) / 2], dim=1)


def _towards(first: Tensor, second: Tensor) -> Tensor:
    """Cosine with one's own, mean cosine with all others, and 1 where one's own is the nearest: (3, pairs)."""
    parts = []
    for start in range(0, len(first), _BLOCK):
        cosines = first[start : start + _BLOCK] @ second.T
        places = torch.arange(start, start + len(cosines))
        own = cosines.gather(1, places.unsqueeze(1)).squeeze(1)
        others = (cosines.sum(1) - own) / (len(second) - 1)
        parts.append(torch.stack([own, others, (cosines.argmax(1) == places).to(own.dtype)]))
    return torch.cat(parts, dim=1)
