"""Which vectors of words there are: of models, alone and in context, from files, of word2vec trained on the text."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dlfa_adapters.analysis.retrieval.word2vec import Word2VecOptions, train_word2vec, train_word2vec_together
from dlfa_adapters.analysis.retrieval.word_states import words_alone, words_in_context
from dlfa_adapters.analysis.states import Opened
from dlfa_adapters.data.dictionary import check_languages
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.vectors import STATE, WordVectors, read_vectors
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, DataError

VECTORS, WORD2VEC, TOGETHER = "vectors", "word2vec", "word2vec together"


def word_systems(
    words: Mapping[str, Sequence[str]],
    *,
    models: Iterable[Opened] = (),
    texts: Mapping[str, str | Path] | None = None,
    contexts: int | None = None,
    vectors: Mapping[str, str | Path] | None = None,
    word2vec: Word2VecOptions | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, WordVectors]]:
    """The vectors of words by system and language.

    Args:
        words: The words that are needed, by language.
        models: From `open_encoder` and `open_run`; one is requested when the one before it is done with. Each gives two
            systems, `NAME, alone` and, of the languages with text, `NAME, in context`.
        texts: Files of text by language, a line a sentence or paragraph.
        contexts: See `words_in_context`.
        vectors: Files of word vectors by language: the system `vectors`.
        word2vec: Train it on the texts: the systems `word2vec`, a language by itself, and, with the tokenizer of the
            first model, `word2vec together`.
        progress: Called after each batch.

    Raises:
        ConfigError: If there is text or a file of a language that is not needed, two models have one name, or there is
            no text to train on.
        DataError: If a file cannot be read.
        MissingExtraError: If word2vec shall be trained and gensim is not installed.
        RunError: If a model gives states that are not finite numbers.
    """
    texts, vectors = texts or {}, vectors or {}
    check_languages(words, texts, vectors)
    if word2vec is not None and not texts:
        raise ConfigError("word2vec is trained on text; add --text LANGUAGE=FILE for every language.")
    lines = {language: read_lines(path, Notes(path)) for language, path in texts.items()}
    for language, path in texts.items():
        if not any(map(str.strip, lines[language])):
            raise DataError(f"{path}: expected text in {language}, a line a sentence or paragraph, but there is none")
    read = {x: read_vectors(path, words[x], x) for x, path in vectors.items()}
    _check_one_width(read, vectors)
    systems: dict[str, dict[str, WordVectors]] = {}
    tokenizer = None
    for opened in models:
        tokenizer = tokenizer or opened.tokenizer
        alone, context = f"{opened.name}, alone", f"{opened.name}, in context"
        if alone in systems:
            raise ConfigError(f"expected each model once, got {opened.name} twice.")
        systems[alone] = {x: words_alone(opened, each, language=x, progress=progress) for x, each in words.items()}
        if lines:
            systems[context] = {
                x: words_in_context(opened, words[x], of_language, x, contexts=contexts, progress=progress)
                for x, of_language in lines.items()
            }
    if read:
        systems[VECTORS] = read
    if word2vec is not None:
        how = {"options": word2vec, "progress": progress}
        systems[WORD2VEC] = {x: train_word2vec(words[x], each, x, **how) for x, each in lines.items()}  # type: ignore[arg-type]
        if tokenizer is not None:
            needed = {x: words[x] for x in lines}
            systems[TOGETHER] = train_word2vec_together(needed, lines, tokenizer, **how)  # type: ignore[arg-type]
    return systems


def _check_one_width(read: Mapping[str, WordVectors], files: Mapping[str, str | Path]) -> None:
    """Refuse vectors that cannot be held against each other.

    Raises:
        DataError: Naming the files and their widths.
    """
    widths = {x: each.states[STATE].shape[1] for x, each in read.items()}
    if len(set(widths.values())) > 1:
        told = ", ".join(f"{width} numbers a word in {files[x]}" for x, width in widths.items())
        raise DataError(f"expected vectors of one width in all languages, got {told}; name files of one width")
