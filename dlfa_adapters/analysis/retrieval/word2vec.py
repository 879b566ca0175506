"""Static vectors of words: word2vec trained on a text, a language by itself or several together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from dlfa_adapters.analysis.retrieval.linear_map import check_static
from dlfa_adapters.data.alignment import align_words
from dlfa_adapters.data.dictionary import Claims, Matcher
from dlfa_adapters.data.vectors import STATE, WordVectors
from dlfa_adapters.data.words import split_words
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.learning.pretrain.skip_gram import train_skip_gram


@dataclass(frozen=True, kw_only=True)
class Word2VecOptions:
    """How word2vec is trained, as skip-gram with negative samples (Mikolov et al. 2013, arXiv 1310.4546).

    Attributes:
        size: Width of the vectors; the paper has the width of its encoder, 768.
        window: Words on each side.
        epochs: Passes over the text.
        min_count: Words that are rarer have no vector.
        negative: Negative samples a word.
        seed: Of first vectors and samples.
    """

    size: int = 300
    window: int = 5
    epochs: int = 10
    min_count: int = 1
    negative: int = 5
    seed: int = 1


def train_word2vec(
    words: Sequence[str],
    lines: Sequence[str],
    language: str,
    *,
    options: Word2VecOptions | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Train word2vec on the words of a text in one language.

    Args:
        words: The words whose vectors are needed.
        lines: The text; `split_words` makes words of it.
        language: Its language.
        options: How.
        progress: Called after each epoch.

    Returns:
        Their vectors, of those in the text; see `Matcher`, which says what is a word of the list.

    Raises:
        MissingExtraError: If gensim is not installed.
        DataError: If there is no word in the text.
    """
    vectors = _trained([split_words(line, language) for line in lines], language, options, progress)
    claims = Claims(Matcher(words, language))
    found = {number: place for place, word in enumerate(vectors.index_to_key) for number in claims(word)}
    rows = {words[number]: row for row, number in enumerate(found)}
    return WordVectors(rows, {STATE: torch.from_numpy(vectors.vectors[list(found.values())])})


def train_word2vec_together(
    words: Mapping[str, Sequence[str]],
    texts: Mapping[str, Sequence[str]],
    tokenizer: Any,
    *,
    options: Word2VecOptions | None = None,
    progress: Progress | None = None,
) -> dict[str, WordVectors]:
    """Train word2vec on the pieces of the texts of all languages at once, one after the other.

    It is how Liu et al. 2020, arXiv 2004.09205, Section 3, have it: nothing but the pieces that languages share brings
    them together. The vector of a word is the mean of those of its pieces.

    Args:
        words: The words whose vectors are needed, by language.
        texts: Lines by language.
        tokenizer: The encoder's fast tokenizer.
        options: How.
        progress: Called after each epoch.

    Returns:
        Their vectors by language, of those of which all pieces occur.

    Raises:
        MissingExtraError: If gensim is not installed.
        DataError: If there is no word in the texts.
    """
    split = {language: [split_words(line, language) for line in lines] for language, lines in texts.items()}
    aligned = align_words(tokenizer, {word for each in split.values() for line in each for word in line})
    sentences = [
        [str(piece) for word in line for piece in aligned[word].ids[aligned[word].marker :]]
        for each in split.values()
        for line in each
    ]
    vectors = _trained(sentences, "pieces, " + " ".join(texts), options, progress)
    by_language = {}
    for language, needed in words.items():
        found = {}
        for word, pieces in align_words(tokenizer, needed).items():
            ids = [str(piece) for piece in pieces.ids[pieces.marker :]]
            if not (pieces.vanished or pieces.unk_only) and all(piece in vectors for piece in ids):
                found[word] = torch.from_numpy(vectors[ids].mean(0))
        states = torch.stack(list(found.values())) if found else torch.empty(0, vectors.vector_size)
        by_language[language] = WordVectors({word: row for row, word in enumerate(found)}, {STATE: states})
    return by_language


def _trained(
    sentences: Sequence[Sequence[str]], what: str, options: Word2VecOptions | None, progress: Progress | None
) -> Any:
    """The keyed vectors of gensim."""
    check_static()
    stage = f"word2vec ({what})"
    if not any(sentences):
        raise DataError(f"{stage}: expected text, got none")
    return train_skip_gram(sentences, stage, **asdict(options or Word2VecOptions()), progress=progress)
