"""Parts of speech that a parser reads: those of its data, or as a tagger says them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.tasks import POS


class TaggedWords(NamedTuple):
    """The words of a sentence, with a part of speech for each.

    Attributes:
        words: The words.
        upos: As many universal parts of speech; `_` or "" where there is none.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...]


def with_parts_of_speech(sentences: Sequence[TaggedWords], source: Any) -> list[TaggedWords]:
    """Sentences with the parts of speech that a parser reads.

    Args:
        sentences: Words, with the parts of speech of the data.
        source: `gold`: those of the data; a tagger, whose they are; None: the parser reads none.

    Raises:
        ConfigError: See `check_tagger`.
        DataError: If a word has no universal part of speech, where those of the data are read.
    """
    if source is None:
        return list(sentences)
    if not isinstance(source, str):
        check_tagger(source)
        tags, _ = source.answer([list(words) for words, _ in sentences])
        return [TaggedWords(words, tuple(names)) for (words, _), names in zip(sentences, tags, strict=True)]
    known = frozenset(POS.labels)
    for number, (words, upos) in enumerate(sentences):
        for word, name in zip(words, upos, strict=True):
            if name not in known:
                raise DataError(
                    f"expected a universal part of speech for each word, which this parser reads, but {word!r} of "
                    f"sentence {number} (counted from 0) has {name!r}; name the run of a tagger with --upos (upos=)."
                )
    return list(sentences)


def check_tagger(source: Any) -> None:
    """Refuse a model that does not say universal parts of speech.

    Raises:
        ConfigError: Naming what it says.
    """
    if source is not None and not isinstance(source, str) and not set(source.labels) <= set(POS.labels):
        named = ", ".join(source.labels[:5])
        raise ConfigError(f"upos needs a tagger of universal parts of speech (dlfa train pos); this one says {named}.")
