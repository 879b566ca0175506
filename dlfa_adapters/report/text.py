"""Sentences as people read them: blanks only where the script has them, and the direction of the script."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import regex

from dlfa_adapters.data.words import CHARACTER_LANGUAGES

_NO_BLANKS = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆〇\u3000-\u303f\uff00-\uffef]"
)
_CLOSING = frozenset(")]},.;:!?%…،؛؟।॥።")
_OPENING = frozenset("([{¡¿")


def blank_between(left: str, right: str, language: str) -> bool:
    """Whether a blank stands between two words; a guess, since corpora of words do not keep it.

    Args:
        left: A word.
        right: The next one.
        language: Code of the language: Chinese and Japanese have blanks between longer Latin words alone.
    """
    last, first = left[-1:], right[:1]
    if first in _CLOSING or last in _OPENING:
        return False
    no_blanks = [bool(_NO_BLANKS.match(char)) for char in (last, first)]
    if language.replace("_", "-").split("-")[0].lower() in CHARACTER_LANGUAGES:
        return len(left) > 1 and len(right) > 1 and not any(no_blanks)
    return not all(no_blanks)


def join_words(words: Sequence[str], language: str) -> str:
    """Words as running text."""
    text = words[0] if words else ""
    for left, right in pairwise(words):
        text += (" " if blank_between(left, right, language) else "") + right
    return text


def direction(text: str) -> str:
    """`rtl` where most letters are written from right to left, else `ltr`: the value of HTML's `dir`.

    HTML's own `auto` looks at the first letter alone: wrong for an Arabic sentence that begins with a Latin name.
    """
    kinds = [unicodedata.bidirectional(char) for char in text]
    return "rtl" if sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L") else "ltr"


def shown(value: object) -> object:
    """Text with control characters and lone surrogates escaped: HTML cannot hold them. Other values as they are."""
    if type(value) is not str:
        return value
    return "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in value
    )
