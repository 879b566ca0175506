"""Vectors of words or pieces by gensim: skip-gram with negative samples (Mikolov et al. 2013, arXiv 1310.4546)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dlfa_adapters.ground.environment import Progress

MOST = 10_000
"""Words of a sentence that gensim reads; it silently leaves out the rest, so that longer ones are given in parts."""


def train_skip_gram(
    sentences: Iterable[Sequence[str]],
    stage: str,
    *,
    size: int,
    window: int,
    epochs: int,
    negative: int,
    seed: int,
    min_count: int = 1,
    workers: int = 1,
    progress: Progress | None = None,
) -> Any:
    """Train vectors, for which gensim must be installed.

    Args:
        sentences: What counts as words, sentence by sentence.
        stage: The stage for `progress`.
        size: Width of the vectors.
        window: Words on each side that count as context.
        epochs: Passes over the sentences.
        negative: Negative samples a word.
        seed: Of first vectors and samples.
        min_count: Words that are rarer have no vector.
        workers: Threads; with more than one the vectors are not the same again.
        progress: Called after each epoch.

    Returns:
        gensim's `KeyedVectors`.
    """
    from gensim.models import Word2Vec
    from gensim.models.callbacks import CallbackAny2Vec

    step = progress or (lambda stage, done, total: None)

    class Epoch(CallbackAny2Vec):
        def on_epoch_end(self, model: Any) -> None:
            step(stage, 1, epochs)

    step(stage, 0, epochs)
    return Word2Vec(
        list(_parts(sentences)),
        vector_size=size,
        window=window,
        min_count=min_count,
        negative=negative,
        epochs=epochs,
        sg=1,
        seed=seed,
        workers=workers,
        callbacks=[Epoch()],
    ).wv


def _parts(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Sentences, those that gensim would cut off in parts."""
    for sentence in sentences:
        for start in range(0, len(sentence), MOST):
            yield sentence[start : start + MOST]
