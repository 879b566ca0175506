"""What is odd in data that can be read: told to the user, never changed.

One warning a kind, with how often and on which lines, so that a report stays readable on a file of 20,000 sentences.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from dlfa_adapters.data.readers.base import Example, Problem, Sentence, shown
from dlfa_adapters.data.readers.iob import orphans

LONG_SENTENCE = 250  # words; more than any encoder of 512 pieces takes in most languages


def find_oddities(items: Sequence[Sentence | Example], scheme: str | None) -> list[Problem]:
    """All warnings about the items of a file.

    Args:
        items: Sentences, or examples.
        scheme: Tag scheme of the file; orphaned I- tags are looked for where there is one.

    Returns:
        At most one warning of each kind.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for item in items:
        for kind, line, what in _of_sentence(item, scheme) if isinstance(item, Sentence) else _of_example(item):
            found.setdefault(kind, []).append((line, what))
    for kind, line, what in _duplicates(items):
        found.setdefault(kind, []).append((line, what))
    return [_summary(kind, places) for kind, places in found.items()]


_MEANINGS: dict[str, str] = {
    "empty_word": "empty words, each kept and scored as an unknown word",
    "invisible_word": "words without a visible character (format, control or blank characters only)",
    "blank_in_word": "words with a blank inside or at an end",
    "replacement_character": "words or texts with U+FFFD, that is with bytes lost before this file was written",
    "mojibake": "words or texts that look like UTF-8 decoded as Latin-1 (é as Ã©)",
    "control_character": "words or texts with control characters",
    "long_sentence": f"sentences of more than {LONG_SENTENCE} words, which are read through overlapping windows",
    "orphan_inside": "I- tags that continue no entity, kept; the lenient and the strict span score differ on them",
    "no_tags": "sentences without tags, which can be tagged but not scored",
    "no_label": "examples without a label, which can be predicted but not scored",
    "blank_text": "blank texts",
    "duplicate": "items that stand in the file before",
    "conflicting_duplicate": "items that stand in the file before with another label",
}


def _of_sentence(item: Sentence, scheme: str | None) -> Iterator[tuple[str, int, str]]:
    lines = item.lines or [0] * len(item.words)
    if item.tags is None:
        yield "no_tags", item.line, ""
    elif scheme is not None:
        for index in orphans(item.tags):
            yield "orphan_inside", lines[index], item.words[index]
    if len(item.words) > LONG_SENTENCE:
        yield "long_sentence", item.line, f"{len(item.words)} words"
    for line, word in zip(lines, item.words, strict=True):
        if not word.isalnum():
            for kind, test in _WORD_TESTS:
                if test(word):
                    yield kind, line, word
                    break


def _of_example(item: Example) -> Iterator[tuple[str, int, str]]:
    texts = [item.text] if item.text_pair is None else [item.text, item.text_pair]
    if item.label is None:
        yield "no_label", item.line, ""
    for text in texts:
        if not text.strip():
            yield "blank_text", item.line, text
        elif not (text.isascii() and text.isprintable()):
            for kind, test in _TEXT_TESTS:
                if test(text):
                    yield kind, item.line, text


def _duplicates(items: Sequence[Sentence | Example]) -> Iterator[tuple[str, int, str]]:
    seen: dict[object, object] = {}
    for item in items:
        key: object
        answer: object
        if isinstance(item, Sentence):
            key, answer, what = tuple(item.words), item.tags, " ".join(item.words)
        else:
            key, answer, what = (item.text, item.text_pair, item.language), item.label, item.text
        if key not in seen:
            seen[key] = answer
        else:
            yield ("duplicate" if seen[key] == answer else "conflicting_duplicate"), item.line, what


def _summary(kind: str, places: Sequence[tuple[int, str]]) -> Problem:
    lines = ", ".join(str(line) for line, _ in places[:5]) + (", …" if len(places) > 5 else "")
    first = f"; the first is {shown(places[0][1])}" if places[0][1] else ""
    return Problem(places[0][0], "warning", kind, f"{_MEANINGS[kind]}: {len(places)} (lines {lines}{first})")


def _is_invisible(text: str) -> bool:
    return all(unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn") for char in text)


_TEXT_TESTS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("replacement_character", lambda text: "\ufffd" in text),
    ("mojibake", re.compile("Ã[©¨¤¶¼¡³±§]|â€[™œ]|Â ").search),
    ("control_character", re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]").search),
)
_WORD_TESTS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("empty_word", lambda word: not word),
    ("invisible_word", _is_invisible),
    ("blank_in_word", re.compile(r"\s").search),
    *_TEXT_TESTS,
)
