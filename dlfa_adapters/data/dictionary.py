"""Bilingual dictionaries, as MUSE and XLING-BLI have them, and which word of one a word of a text is."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.layout import check_language
from dlfa_adapters.data.parallel import languages_in, name_and_place
from dlfa_adapters.data.readers.base import Notes, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.ground.errors import ConfigError, DataError

_DOTTED = frozenset("tr az tur aze".split())
"""Languages in which i has a dot as a capital letter too."""


@dataclass(frozen=True)
class Dictionary:
    """Words and their translations.

    Attributes:
        languages: Of the words, and of their translations.
        pairs: A word and a translation, each pair once, in the order of the file; a word with several translations is
            in several pairs.
        repeated: How many pairs stood there again.
    """

    languages: tuple[str, str]
    pairs: list[tuple[str, str]]
    repeated: int = 0

    @property
    def name(self) -> str:
        """What it is called, e.g. `en-de`."""
        return "-".join(self.languages)

    def words(self, side: int) -> list[str]:
        """The distinct words of a side, 0 or 1, in order."""
        return list(dict.fromkeys(pair[side] for pair in self.pairs))


def read_dictionary(place: str | Path) -> Dictionary:
    """Read a dictionary: a word and a translation a line, with a TAB between them (XLING-BLI) or a blank (MUSE).

    Args:
        place: The file; its languages are in its name, as in `en-de.0-5000.txt` or `yacle.test.freq.2k.en-de.tsv`, or
            before it, as in `en-de=words.txt`.

    Raises:
        DataError: If the file cannot be read, has a line that is no pair or fewer than two, or it is not said of which
            languages it is.
    """
    name, path = name_and_place(str(place))
    languages = languages_in(name or path.name)
    pairs: list[tuple[str, str]] = []
    lines = read_lines(path, Notes(path))
    if languages is None:
        raise DataError(f"{path}: expected the languages of the dictionary in its name, got none; type en-de={path}.")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.strip().split("\t") if "\t" in line.strip() else line.split()
        if len(cells) != 2:
            raise DataError(
                f"{path}, line {number}: expected a word and its translation, with a TAB or a blank between them, "
                f"got {shown(line)}"
            )
        pairs.append((cells[0].strip(), cells[1].strip()))
    once = list(dict.fromkeys(pairs))
    if len(once) < 2:
        raise DataError(f"{path}: expected two or more pairs of words, got {len(once)}")
    return Dictionary(languages, once, len(pairs) - len(once))


class Matcher:
    """Which words of a list a word of a text is: the one that is spelled alike, or else those that differ in capitals.

    Args:
        words: The list.
        language: Their language, e.g. for Turkish capitals; None where it is not known.
    """

    def __init__(self, words: Sequence[str], language: str | None = None) -> None:
        self._language = language
        self._exact: dict[str, list[int]] = {}
        self._lower: dict[str, list[int]] = {}
        for number, word in enumerate(words):
            same = unicodedata.normalize("NFC", word)
            self._exact.setdefault(same, []).append(number)
            self._lower.setdefault(lowered(same, language), []).append(number)

    def __call__(self, word: str) -> tuple[list[int], bool]:
        """The numbers of the words, none where the list has no such word; and whether they are spelled alike."""
        same = unicodedata.normalize("NFC", word)
        exact = self._exact.get(same)
        return (exact, True) if exact else (self._lower.get(lowered(same, self._language), []), False)


class Claims:
    """Goes through a vocabulary and says which words of a list, that of its matcher, each of its words stands for.

    It is the one that is spelled alike, or else the first that differs in capitals: vocabularies begin with what is
    frequent.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._spelled_alike: dict[int, bool] = {}

    def __call__(self, word: str) -> list[int]:
        """The numbers of the words that the next word of the vocabulary stands for, better than those before it."""
        numbers, alike = self._matcher(word)
        claimed = [number for number in numbers if number not in self._spelled_alike or alike]
        claimed = [number for number in claimed if not self._spelled_alike.get(number, False)]
        self._spelled_alike.update(dict.fromkeys(claimed, alike))
        return claimed


def lowered(word: str, language: str | None = None) -> str:
    """A word in small letters; in Turkish and Azerbaijani I becomes ı and İ becomes i."""
    if language is not None and language.partition("_")[0].partition("-")[0] in _DOTTED:
        word = word.replace("İ", "i").replace("I", "ı")
    return word.lower()


def by_language(dictionaries: Iterable[Dictionary]) -> dict[str, list[str]]:
    """The distinct words of some dictionaries in each language."""
    words: dict[str, dict[str, None]] = {}
    for dictionary in dictionaries:
        for side, language in enumerate(dictionary.languages):
            check_language(language)
            words.setdefault(language, {}).update(dict.fromkeys(dictionary.words(side)))
    return {language: list(each) for language, each in words.items()}


def check_languages(words: Iterable[str], *given: Iterable[str]) -> None:
    """Refuse text or vectors of a language of which no dictionary has words.

    Raises:
        ConfigError: If there is one.
    """
    needed = sorted(words)
    for language in (x for each in given for x in each if x not in needed):
        raise ConfigError(
            f"expected text or vectors of {', '.join(needed)}, which the dictionaries have, got {language}."
        )
