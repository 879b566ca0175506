"""Entity tag schemes: recognise IOB1, IOB2, BILOU and BIOES in a file, and turn each into IOB2.

IOB2 (every entity starts with B-) is the only scheme inside this library. IOB1 is what CoNLL-2003 was published in
(Ramshaw and Marcus 1995, arXiv cmp-lg/9505040: B- only where an entity touches one of the same type). BILOU (Ratinov
and Roth 2009) and BIOES also mark last and single words.

A tag whose form is unknown is left as it is: labels are never mapped away. An I- that follows no entity of its type in
an IOB2 file (PAN-X has some in Japanese and Chinese) stays an I-, because the lenient and the strict span score differ
on it; `repair` is there for those who ask for it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from dlfa_adapters.tasks.span_tags import find_span_tags

_TO_IOB2 = {"B": "B", "I": "I", "L": "I", "E": "I", "M": "I", "U": "B", "S": "B", "W": "B"}


def split_tag(tag: str) -> tuple[str, str] | None:
    """Prefix and type of an entity tag.

    Args:
        tag: E.g. `B-LOC`, `I-event-protest`, `O`.

    Returns:
        `("B", "LOC")`, `("I", "event-protest")`, `("O", "")`, `("B", "")` for `B` without a type; None where it is no
        entity tag (`NOUN`).
    """
    if tag in ("O", "B", "I"):
        return (tag, "")
    if len(tag) > 2 and tag[1] == "-" and tag[0] in _TO_IOB2:
        return (tag[0], tag[2:])
    return None


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str | None:
    """The scheme that a file's tags are in, given those of each sentence.

    Returns:
        `BILOU` or `BIOES` where their prefixes occur; `IOB1` where some entity starts with I- and B- is only ever used
        between two entities of one type; otherwise `IOB2` (orphaned I- included). None where `find_span_tags` finds
        no tags of spans, or finds them written in another way.
    """
    sentences = list(sequences)
    counts = Counter(chain.from_iterable(sentences))
    span_tags = find_span_tags(counts)
    if span_tags is None or span_tags.rewritten:
        return None
    kinds = {tag: _kind(tag) for tag in counts}
    prefixes: set[str] = set()
    inside_starts = begin_after_other = False
    for tags in sentences:
        last: str | None = None
        for tag in tags:
            kind = kinds[tag]
            if kind is not None:
                prefixes.add(tag[0])
                if kind != last:
                    inside_starts |= tag[0] == "I"
                    begin_after_other |= tag[0] == "B"
            last = kind
    if prefixes & {"L", "U"}:
        return "BILOU"
    if prefixes & {"E", "S", "M", "W"}:
        return "BIOES"
    return "IOB1" if inside_starts and not begin_after_other else "IOB2"


def converted_to_iob2(tags: Sequence[str], scheme: str | None) -> list[str]:
    """Tags of one sentence in IOB2, from a scheme as `detect_scheme` names it, as a new list.

    Returns:
        The same tags for IOB2 and None; converted ones otherwise. Tags of unknown form stay as they are.
    """
    if scheme == "IOB1":
        return repair(tags)[0]
    if scheme in ("BILOU", "BIOES"):
        return [tag if _kind(tag) is None else _TO_IOB2[tag[0]] + tag[1:] for tag in tags]
    return list(tags)


def orphans(tags: Sequence[str]) -> list[int]:
    """Positions of every I- that continues nothing: after O, at the start, or after an entity of another type."""
    positions = []
    last: str | None = None
    for index, tag in enumerate(tags):
        kind = _kind(tag)
        if kind is not None and tag[0] == "I" and kind != last:
            positions.append(index)
        last = kind
    return positions


def repair(tags: Sequence[str]) -> tuple[list[str], int]:
    """The tags of a sentence in IOB2 with every orphaned I- turned into B-, as conlleval reads them; a new list.

    Returns:
        The repaired tags, and how many of them changed.
    """
    places = orphans(tags)
    out = list(tags)
    for index in places:
        out[index] = "B" + out[index][1:]
    return out, len(places)


def _kind(tag: str) -> str | None:
    """The type of an entity tag, empty for `B` and `I` alone; None for `O` and where it is none."""
    parts = split_tag(tag)
    return None if parts is None or parts[0] == "O" else parts[1]
