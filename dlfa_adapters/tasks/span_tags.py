"""How data write the tags of spans: the notation of most of them, and the tags that slipped out of it.

Whether a task is scored by spans follows from what most of its tags say, counted by word, never from a single tag. What
is left over are slips: another case, blank, separator, order or digit, or no tag of a span at all.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_SCHEMES = tuple(map(frozenset, ("BIO", "BILU", "BIES", "BMES", "BMEW")))
_SEPARATORS = "-_:/.|+\u2010\u2011\u2012\u2013\u2014\u2212"
_PREFIX_FIRST = re.compile(f"([BILUESMW1])([{_SEPARATORS}])(.+)", re.IGNORECASE | re.DOTALL)
_TYPE_FIRST = re.compile(f"(.+)([{_SEPARATORS}])([BILUESMW])", re.IGNORECASE | re.DOTALL)
_MOST = 4  # a clear majority: so many times what speaks against it


class Style(NamedTuple):
    """How the tag of a span is written; `Style()` is `B-PER`.

    Attributes:
        separator: What stands between prefix and type; empty where there is no type.
        type_first: Whether it is `PER-B`.
        lower: Whether the prefix is a small letter.
        digit: Whether the prefix is a digit, 1 for I.
        blank: Whether blanks or invisible characters stand around it.
    """

    separator: str = "-"
    type_first: bool = False
    lower: bool = False
    digit: bool = False
    blank: bool = False


class TagReading(NamedTuple):
    """What a tag says, however it is written: prefix (`B`, `I`, ..., `O`), type (empty for none), and its style."""

    prefix: str
    kind: str
    style: Style

    @property
    def tag(self) -> str:
        """The tag as this library writes it."""
        return f"{self.prefix}-{self.kind}" if self.kind else self.prefix


@dataclass(frozen=True)
class SpanTags:
    """The tags of data whose words are tagged with spans.

    Attributes:
        style: How most of them are written.
        rewritten: Tag in the notation of the data -> the same as `B-TYPE`, `I-TYPE` or `O`, where the two differ.
        slips: Tag that is not in the notation of the others -> the tag that it looks like, or None.
    """

    style: Style
    rewritten: dict[str, str]
    slips: dict[str, str | None]


def bare(label: str) -> str:
    """A label without blanks (no-break ones too) and invisible characters at its ends."""
    if label and label[0].isalnum() and label[-1].isalnum():  # nearly all of them
        return label
    start, stop = 0, len(label)
    while start < stop and _is_unseen(label[start]):
        start += 1
    while stop > start and _is_unseen(label[stop - 1]):
        stop -= 1
    return label[start:stop]


def read_tag(tag: str) -> TagReading | None:
    """What a tag says of a span in any notation; None where it says nothing.

    Args:
        tag: E.g. `B-PER`, `B_PER`, `PER-B`, `b-per`, `B`, `O`, `0`.
    """
    text = bare(tag)
    blank = text != tag
    if text in ("O", "o", "0"):
        return TagReading("O", "", Style("", lower=text == "o", digit=text == "0", blank=blank))
    if text in ("B", "I", "b", "i"):
        return TagReading(text.upper(), "", Style("", lower=text.islower(), blank=blank))
    if match := _PREFIX_FIRST.fullmatch(text):
        prefix, separator, kind = match.groups()
        style = Style(separator, lower=prefix.islower(), digit=prefix == "1", blank=blank)
        return TagReading("I" if prefix == "1" else prefix.upper(), kind, style)
    if match := _TYPE_FIRST.fullmatch(text):
        kind, separator, prefix = match.groups()
        return TagReading(prefix.upper(), kind, Style(separator, type_first=True, lower=prefix.islower(), blank=blank))
    return None


def find_span_tags(counts: Mapping[str, int]) -> SpanTags | None:
    """The notation of tags, if most of them are of spans; of ordinary ones (`B-PER`) four fifths are enough.

    Args:
        counts: Tag -> number of words that have it. Outside tags (`O`) speak neither for nor against.

    Returns:
        The notation and what is not in it; None where tags are of single words.
    """
    readings = {tag: reading for tag in counts if (reading := read_tag(tag)) is not None}
    styles: Counter[Style] = Counter()
    outside: Counter[str] = Counter()
    for tag, reading in readings.items():
        if reading.prefix == "O":
            outside[tag] = counts[tag]
        else:
            styles[reading.style] += counts[tag]
    if not styles:
        return None
    style = max(styles, key=lambda each: (styles[each], each == Style()))
    unread = sum(count for tag, count in counts.items() if tag not in readings)
    others = unread + sum(count for each, count in styles.items() if style != Style() and each != style)
    prefixes = {reading.prefix for reading in readings.values() if reading.style == style} - {"O"}
    if style != Style() and not (prefixes & {"B", "I"} and any(prefixes <= scheme for scheme in _SCHEMES)):
        return None
    most, spare = (sum(styles.values()), 1) if style == Style() else (styles[style], 0)
    if others >= most or others > max(spare, most / _MOST):  # a single one of a handful is still a slip
        return None
    usual = max(outside, key=lambda tag: (outside[tag], tag == "O"), default="O")
    regular = {
        tag: reading.tag for tag, reading in readings.items() if reading.prefix != "O" and reading.style == style
    }
    regular |= {"O": "O", usual: "O"}
    there = {written: tag for tag, written in regular.items() if tag in counts}
    slips = {tag: _looks_like(tag, readings, there) for tag in counts if tag not in regular}
    return SpanTags(style, {tag: written for tag, written in regular.items() if tag != written}, slips)


def to_learn(counts: Mapping[str, int]) -> tuple[list[str], str]:
    """What a tagger learns from data: all labels but the slips of span tags, and by which metric it is scored.

    Returns:
        The labels, and `span_f1` or `accuracy`.
    """
    span_tags = find_span_tags(counts)
    if span_tags is None or span_tags.rewritten:  # a reader has rewritten what it could
        return list(counts), "accuracy"
    return [tag for tag in counts if tag not in span_tags.slips], "span_f1"


def span_hint(counts: Mapping[str, int]) -> str | None:
    """What to write where tags look as if spans were meant and none are scored; None where nothing looks so."""
    others = [tag for tag in counts if bare(tag) not in ("O", "o")]
    outside = sum(count for tag, count in counts.items() if tag not in others)
    if not others or find_span_tags(counts) is not None:
        return None
    spans = sum(counts[tag] for tag in others if read_tag(tag) is not None)
    if outside < max(counts[tag] for tag in others) and 2 * spans < sum(counts[tag] for tag in others):
        return None
    first = others[0] if read_tag(others[0]) is None else "TYPE"
    names = ", ".join(map(repr, others[:5])) + (", ..." if len(others) > 5 else "")
    return (
        f"tags besides O are {names}: each word is scored by itself, and entities are not; if spans are meant, write "
        f"B-{first} for the first word of each and I-{first} for its others"
    )


def how_it_differs(label: str, other: str) -> str:
    """In what a label differs from the one that it looks like: `case`, `blanks`, `separator`, `order`, `digit`."""
    a, b = read_tag(label), read_tag(other)
    ways = []
    if bare(label) != label or bare(other) != other:
        ways.append("blanks")
    if a is not None and b is not None and (a.kind or b.kind or a.prefix == b.prefix):
        ways += ["digit"] * (a.style.digit != b.style.digit)
        ways += ["type"] * (bool(a.kind) != bool(b.kind))
        ways += ["order"] * (a.style.type_first != b.style.type_first)
        ways += ["separator"] * (a.style.separator != b.style.separator and bool(a.kind) == bool(b.kind))
        ways += ["case"] * (a.style.lower != b.style.lower or (a.kind != b.kind and a.kind.lower() == b.kind.lower()))
    else:
        ways += ["case"] * (bare(label) != bare(other) and bare(label).casefold() == bare(other).casefold())
        ways += ["separator"] * (bare(label).casefold() != bare(other).casefold())
    return " and ".join(ways) or "spelling"


def _looks_like(tag: str, readings: Mapping[str, TagReading], there: Mapping[str, str]) -> str | None:
    """The regular tag that a slip looks like, as the data write it."""
    if (reading := readings.get(tag)) is None:
        return None
    if reading.tag in there:
        return there[reading.tag]
    alike = (there[written] for written in there if written.casefold() == reading.tag.casefold())
    return next(alike, reading.tag if reading.kind else None)


def _is_unseen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp")
