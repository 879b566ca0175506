"""Sentence retrieval: how often the nearest of all translations is the right one, both ways, in every layer.

Artetxe and Schwenk 2019, arXiv 1812.10464, score Tatoeba so, by the cosine. A sentence is the mean of its states here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.analysis.retrieval.neighbours import NEIGHBOURS, blocks_of, neighbour_ranks
from dlfa_adapters.analysis.retrieval.scored import Column, Retrieval, score_items
from dlfa_adapters.analysis.retrieval.show import Results
from dlfa_adapters.analysis.states import Opened, translated_states
from dlfa_adapters.data.parallel import ParallelText
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.scores.intervals import few_items
from dlfa_adapters.scores.resample import RESAMPLES

MEASURES = ("forward", "backward", "retrieval")
"""`forward`: whether the nearest of all second sides is one's own; `backward`: the same from the second side;
`retrieval`: the mean of the two."""

CENTRED = "centred"


def measure_sentences(
    models: Iterable[Opened],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    *,
    layers: Sequence[int] | None = None,
    neighbours: int = NEIGHBOURS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Retrieval]:
    """Sentence retrieval in some layers of some models.

    Args:
        models: From `open_encoder` and `open_run`; one is requested when the one before it is done with.
        texts: Sentences and translations by the name of the pair of languages.
        layers: Which layers; default: all. All states of a text are in memory at once.
        neighbours: See `neighbour_ranks`.
        resamples: Bootstrap resamples of the pairs.
        seed: Of the bootstrap.
        progress: Called after each batch.

    Returns:
        One a text. Its systems are the models by name, its orders those of `orders`.

    Raises:
        ConfigError: If a model has not these layers, two have one name, or a number is out of range.
        DataError: If a text has fewer than two pairs.
        RunError: If a model gives states that are not finite numbers.
    """
    found: dict[str, dict[Column, np.ndarray]] = {name: {} for name in texts}
    for name, pairs in texts.items():
        if len(pairs) < 2:
            raise DataError(f"{name}: expected two or more pairs of a sentence and its translation, got {len(pairs)}")
    for opened in models:
        _check_layers(opened, layers)
        for name, pairs in texts.items():
            of_model = _found(opened, name, pairs, layers, neighbours, progress or (lambda stage, done, total: None))
            if not of_model.keys().isdisjoint(found[name]):
                raise ConfigError(f"expected each model once, got {opened.name} twice.")
            found[name] |= of_model
    ones = {name: dict.fromkeys(MEASURES, np.ones(len(pairs))) for name, pairs in texts.items()}
    return [score_items(name, columns, ones[name], resamples=resamples, seed=seed) for name, columns in found.items()]


def orders(first: Tensor, second: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """The vectors of both sides as they are, and with the mean of their own side taken off.

    What all sentences of a language have in common goes with its mean (Liu et al. 2020, arXiv 2004.09205, whose shift
    is the difference of two such means). No pair is looked at for it.

    Args:
        first: (items, width).
        second: (candidates, width).

    Returns:
        By what stands before the score in the name of an order: "" or `centred`.
    """
    return {"": (first, second), CENTRED: (first - first.mean(0), second - second.mean(0))}


def _found(
    opened: Opened,
    name: str,
    pairs: Sequence[tuple[str, str]],
    layers: Sequence[int] | None,
    neighbours: int,
    progress: Progress,
) -> dict[Column, np.ndarray]:
    """For each column what was found of each pair."""
    stage, total = f"Sentences ({opened.name}, {name})", 2 * len(pairs)
    first, second = translated_states(opened, pairs, lambda done: progress(stage, done, total), layers)
    own = torch.arange(len(pairs)).repeat(2, 1).T
    found: dict[Column, np.ndarray] = {}
    blocks = 2 * len(first) * blocks_of(*(side[next(iter(first))] for side in (first, second)))
    for state in first:
        for before, vectors in orders(first[state], second[state]).items():
            x, y = (side.to(opened.model.device) for side in vectors)
            ranks = neighbour_ranks(
                x,
                y,
                own,
                neighbours=neighbours,
                on_progress=lambda done: progress(f"Neighbours ({opened.name}, {name})", done, blocks),
            )
            for score, by_side in ranks.items():
                hits = (by_side == 1).double().numpy()
                column = Column(opened.name, state, f"{before} {score}".strip(), "")
                for measure, values in zip(MEASURES, (hits[:, 0], hits[:, 1], hits.mean(1)), strict=True):
                    found[column._replace(measure=measure)] = values
    return found


def _check_layers(opened: Opened, layers: Sequence[int] | None) -> None:
    model = opened.model.get_base_model() if hasattr(opened.model, "get_base_model") else opened.model
    last = int(model.base_model.config.num_hidden_layers)
    if layers is not None and not set(layers) <= set(range(last + 1)):
        raise ConfigError(f"expected layers from 0 to {last} of {opened.name}, got {', '.join(map(str, layers))}.")


def sentence_results(retrievals: Sequence[Retrieval]) -> Results:
    """What `measure_sentences` gave, for tables and plots."""
    title = "nearest is the translation, %"
    return Results(list(retrievals), "retrieval", title, {"forward": "forward", "backward": "backward"})


def sentence_notes(results: Results, texts: Sequence[ParallelText]) -> list[str]:
    """What a reader of the tables has to know."""
    counts = ", ".join(f"{text.name} {len(text.pairs):,}" for text in texts)
    left_out = sum((text.left_out for text in texts), Counter[str]())
    notes = [
        "forward: of a first sentence the nearest of all second ones; backward: the other way round; all else is the "
        "mean of the two. centred: the mean of each language is taken off. csls: hubs are moved away.",
        f"Pairs: {counts}. Of more sentences fewer are found: compare on the same files.",
    ]
    if left_out:
        notes.append(
            f"Left out: {left_out['repeated']:,} pairs of which a side had come before, {left_out['blank']:,} with a "
            "blank side."
        )
    if len(results.mean.states(results.mean.systems()[0])) > 1:
        notes.append("The best layer was chosen on these sentences: its score is a little too good.")
    return [*notes, *few_items([(text.name, len(text.pairs)) for text in texts])]
