"""The first sentences of a document, for encoders that take two texts.

Wu and Dredze 2019 (arXiv 1904.09077) read of each document of MLDoc the first two sentences, as a pair, or the one
that there is. They part sentences with NLTK, whose models have to be downloaded; here it is sentencex, whose rules and
abbreviations for some 300 languages come with the package.
"""

from collections.abc import Sequence

from dlfa_adapters.data.readers.base import shown
from dlfa_adapters.ground.errors import ConfigError, DataError, MissingExtraError

_SHORT = {"cmn": "zh", "deu": "de", "eng": "en", "fra": "fr", "ita": "it", "jpn": "ja", "rus": "ru", "spa": "es"}
"""Codes of three letters that sentencex knows by two."""


def check_splitter(count: int | None) -> None:
    """Refuse a number of sentences that nothing comes of, or that sentencex is missing for.

    Args:
        count: How many sentences of each document are read; None: all of its text.

    Raises:
        ConfigError: If it is below 1.
        MissingExtraError: If sentencex is not installed.
    """
    if count is None:
        return
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigError(f"first_sentences must be a whole number from 1 up, got {count!r}; type 2.")
    try:
        import sentencex  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "Sentences of documents are told apart by sentencex; type: pip install 'dlfa-adapters[sentences]'"
        ) from error


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """The sentences of a text, without blanks around them.

    Args:
        text: A document.
        language: Its code, which decides about abbreviations and numbers (`Am 3. Oktober`); without one, or one that
            sentencex does not know, the rules are those of English and the sentence ends of all scripts.

    Returns:
        The sentences; the text itself where it has only blanks.
    """
    from sentencex import segment

    first = (language or "").replace("_", "-").partition("-")[0].lower()
    whole = text.encode("utf-8", "replace").decode()  # a lone surrogate is no character
    found = (piece.strip() for piece in segment(_SHORT.get(first, first), whole))
    return [piece for piece in found if piece] or [text]


def cut_documents(
    texts: Sequence[str], text_pairs: Sequence[str] | None, count: int | None, languages: Sequence[str | None]
) -> tuple[Sequence[str], Sequence[str | None] | None]:
    """The first sentence of each document, and those behind it, up to `count` in all.

    Args:
        texts: The documents.
        text_pairs: Second texts, which a document has not.
        count: How many sentences of each document are read; None: texts and pairs as they are.
        languages: The language of each.

    Returns:
        First sentences; and the others, joined by blanks, None for a document that has one.

    Raises:
        DataError: If pairs of texts are given.
    """
    if count is None:
        return texts, text_pairs
    pair = next((pair for pair in text_pairs or () if pair is not None), None)
    if pair is not None:
        raise DataError(
            f"first_sentences takes single texts, but there are pairs, one with the second text {shown(pair)}; leave "
            "it out, or the second texts."
        )
    cut = [split_sentences(text, language)[:count] for text, language in zip(texts, languages, strict=True)]
    return [first for first, *_ in cut], [" ".join(others) or None for _, *others in cut]
