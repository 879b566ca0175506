"""What is odd in data that can be read, labels that look like slips among it: reported to the user, never changed.

One warning a kind, with how often and on which lines, so that a report stays readable on a file of 20,000 sentences;
slips of labels by name, since every command that reads them says so.
"""

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from dlfa_adapters.data.readers.base import Example, Notes, Problem, Read, Sentence, shown
from dlfa_adapters.data.readers.iob import orphans
from dlfa_adapters.tasks import lookalikes
from dlfa_adapters.tasks.misspelt import meant, misspelt
from dlfa_adapters.tasks.span_tags import find_span_tags, how_it_differs, span_hint

LONG_SENTENCE = 250  # words; more than any encoder of 512 pieces takes in most languages


def find_oddities(items: Sequence[Sentence | Example], scheme: str | None) -> list[Problem]:
    """All warnings about the items of a file.

    Args:
        items: Sentences, or examples.
        scheme: Tag scheme of the file; orphaned I- tags are looked for where there is one.

    Returns:
        At most one warning of each kind.
    """
    notes = Notes("", strict=False)
    kinds: dict[str, None] = {}
    each = (_of_sentence(item, scheme) if isinstance(item, Sentence) else _of_example(item) for item in items)
    for kind, line, what in chain(*each, _duplicates(items)):
        notes.collect(kind, line, what)
        kinds[kind] = None
    for kind in kinds:
        notes.warn_collected(kind, _MEANINGS[kind])
    return notes.problems


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


_MOST_NAMED = 10


def name_odd_labels(read: Read[Any], known: Sequence[str] = ()) -> None:
    """Add a warning for each label that looks like a slip, and one where tags without B- and I- hide spans.

    Labels of the task, where it is `known`, are looked like however rare they are.
    """
    places: dict[str, list[int]] = {}
    tagging = False
    for index, item in enumerate(read.items, 1):
        tagging |= isinstance(item, Sentence)
        for label, line in _labels(item):
            places.setdefault(label, []).append(line or -index)
    counts = Counter({label: len(lines) for label, lines in places.items()})
    unit = "word" if tagging else "item"
    notes = Notes(read.path, strict=False, problems=read.problems)
    spans = find_span_tags(counts) if tagging else None
    slips: dict[str, str | None] = dict(lookalikes({label: n for label, n in counts.items() if label.strip()}))
    if spans is not None:
        slips |= spans.slips
    typed = misspelt(counts, spans) if spans is not None or not tagging else {}
    of_task = meant(counts, known)
    slips = {**typed, **of_task, **slips}
    for label, like in list(slips.items())[:_MOST_NAMED]:
        lines = places[label]
        if spans is not None and label in spans.slips:
            means = " is no tag of a span" if like is None else f" looks like {shown(like)} ({_differs(label, like)})"
            means += "; it stays as it is, is not learnt and counts as an error"
        elif like is not None and of_task.get(label) == like:
            means = f" looks like {shown(like)} of the task with a typing error; correct the file if it is one"
        elif like is not None and label in typed:
            often = f"{counts[like]:,} {unit}s" if like in counts else "of a frequent type"
            means = f" looks like {shown(like)} ({often}) with a typing error; correct the file if it is one"
        else:
            means = f" looks like {shown(str(like))} ({_differs(label, str(like))}); it stays as it is"
        notes.warn(max(lines[0], 0) or None, "slip", f"the label {shown(label)} ({_where(lines, unit)}){means}")
    if more := list(slips)[_MOST_NAMED:]:
        number = sum(counts[label] for label in more)
        notes.warn(None, "slip", f"{len(more)} more labels that look like slips, of {number} {unit}s")
    if tagging and spans is None and (hint := span_hint(counts)) is not None:
        notes.warn(None, "no_spans", hint)


_LONG_FOR_ONE = 50  # words of a sentence that is the only one of its file
_ENDS, _SEVERAL = frozenset(".?!。।؟"), 2  # so many ends of sentences before the last word say the same


def name_missing_blank_lines(read: Read[Any]) -> None:
    """Add a warning where the words of a file are one sentence, or sentences are so long that blank lines must lack.

    Args:
        read: What a reader of rows with blank lines between sentences gave back.
    """
    words = [word for item in read.items for word in item.words]
    mean = len(words) / max(1, len(read.items))
    if mean <= (_LONG_FOR_ONE if len(read.items) == 1 else LONG_SENTENCE):
        if len(read.items) > 1 or sum(word in _ENDS for word in words[:-1]) < _SEVERAL:
            return
    what = f"is one sentence of {len(words):,} words" if len(read.items) == 1 else f"has sentences of {mean:.0f} words"
    how = ""
    if "." in words and read.format in ("columns", "words"):
        separator, column = ("-F '\\t' " if read.separator == "\t" else ""), (read.word_column or 0) + 1
        command = f"""awk {separator}'{{print}} ${column} == "." {{print ""}}' {shlex.quote(str(read.path))}"""
        how = f", e.g. behind every full stop: {command} > NEW"
    Notes(read.path, strict=False, problems=read.problems).warn(
        None, "one_sentence", f"the whole file {what}; if there are more, put an empty line behind each{how}"
    )


def have_labels(lines: Sequence[str], labels: Collection[str], pairs: bool = False) -> bool:
    """Whether lines that should be texts, or pairs, are those of a labelled file: behind each stands a TAB and a label.

    The first may be a header row, so one line by itself is none.
    """
    rows = [line.rstrip().split("\t") for line in lines if line.strip()]
    return len(rows) > 1 and all(len(row) > 1 + pairs and row[-1] in labels for row in rows[1:])


def _labels(item: Any) -> Iterator[tuple[str, int]]:
    if isinstance(item, Sentence):
        yield from zip(item.tags or (), item.lines or [0] * len(item.words), strict=False)
    elif item.label is not None:
        yield item.label, item.line


def _differs(label: str, like: str) -> str:
    return f"another {what}" if (what := how_it_differs(label, like)) != "blanks" else "with a blank"


def _where(lines: list[int], unit: str) -> str:
    """How many, and where: lines of a file, or places in a list of items."""
    place = "line" if lines[0] > 0 else "sentence" if unit == "word" else "item"
    numbers = list(dict.fromkeys(map(abs, lines)))
    named = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return f"{len(lines):,} {unit}{'s' * (len(lines) > 1)}, {place}{'s' * (len(numbers) > 1)} {named}"
