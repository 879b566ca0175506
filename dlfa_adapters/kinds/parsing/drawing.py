"""A dependency tree as a picture: predicted arcs above the words, below them the gold ones for those that are wrong."""

import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import pairwise

import regex

from dlfa_adapters.kinds.metric import check_lengths
from dlfa_adapters.kinds.parsing.tree import Arc, same_relation
from dlfa_adapters.kinds.shown import direction

RIGHT, WRONG, GOLD = "currentColor", "#d0443a", "#2a8a50"
"""Colours that can be read on white and on black."""

_WORD, _LABEL = 8.5, 6.5  # width of a letter, in pixels
_GAP, _LEVEL, _BAND = 14, 24, 30  # between words; height of an arc over those below it; height of the row of words
_SIDE, _CORNER = 5, 6  # an arc starts so far beside the middle of its head; radius of its corners


def tree_svg(words: Sequence[str], gold: Sequence[Arc], predicted: Sequence[Arc]) -> str:
    """A sentence with its arcs as SVG, from each head to its dependents; of right-to-left scripts from the right.

    A right arc has the colour of the text. One with the wrong head is red and dashed, one with the wrong relation alone
    red. Subtypes are left aside, as in the main score.

    Args:
        words: The words.
        gold: Their gold arcs.
        predicted: Their predicted arcs.

    Returns:
        One `svg` element that needs no style and no script.

    Raises:
        DataError: If there are not as many arcs as words.
    """
    check_lengths([gold, predicted], [words, words])
    missed = [i for i in range(len(words)) if not same_relation(predicted[i], gold[i])]
    above = {i: arc for i, arc in enumerate(predicted) if 0 <= arc.head <= len(words)}
    below = {i: gold[i] for i in missed}
    middles, width = _middles(words, [*above.items(), *below.items()])
    if direction(" ".join(words)) == "rtl":
        middles = [width - x for x in middles]
    up, down = _levels(above), _levels(below)
    base = _LEVEL * max(up.values(), default=0) + 18
    height = base + _BAND + (_LEVEL * max(down.values(), default=0) + 18 if down else 0)
    parts = []
    for i, arc in above.items():
        same_head = arc.head == gold[i].head
        kind = "right" if i not in below else "relation" if same_head else "head"
        parts.append(_arc(words, middles, i, arc, kind, base, -_LEVEL * up[i]))
    parts += [_arc(words, middles, i, arc, "gold", base + _BAND, _LEVEL * down[i]) for i, arc in below.items()]
    parts += [
        f'<text x="{x:g}" y="{base + 20:g}" font-size="14" fill="currentColor">{_text(word)}</text>'
        for x, word in zip(middles, words, strict=True)
    ]
    told = f"{len(words) - len(missed)} of {len(words)} arcs are right"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tree" role="img" aria-label="{told}" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="system-ui, sans-serif" '
        f'text-anchor="middle">{"".join(parts)}</svg>'
    )


def _arc(words: Sequence[str], x: Sequence[float], i: int, arc: Arc, kind: str, y: float, rise: float) -> str:
    """The arc to word i: a line to its head at `rise` from the words' edge `y`, a point, and the relation on it."""
    colour = {"right": RIGHT, "gold": GOLD}.get(kind, WRONG)
    dashed = ' stroke-dasharray="5 3"' if kind == "head" else ""
    top, out = y + rise, -1 if rise < 0 else 1
    if arc.head:
        side = 1 if x[i] > x[arc.head - 1] else -1
        start = x[arc.head - 1] + side * _SIDE
        round_ = min(_CORNER, abs(x[i] - start) / 2)
        line = (
            f"M{start:g} {y:g}V{top - out * round_:g}Q{start:g} {top:g} {start + side * round_:g} {top:g}"
            f"H{x[i] - side * round_:g}Q{x[i]:g} {top:g} {x[i]:g} {top - out * round_:g}V{y + out:g}"
        )
        label_x, name = (start + x[i]) / 2, words[arc.head - 1]
    else:
        line, label_x, name = f"M{x[i]:g} {top:g}V{y + out:g}", x[i], "root"
    point = f"M{x[i] - 3.5:g} {y + 6 * out:g}L{x[i]:g} {y:g}L{x[i] + 3.5:g} {y + 6 * out:g}Z"
    return (
        f'<g class="{kind}" fill="{colour}"><title>{_text(words[i])} ← {_text(name)}: {_text(arc.deprel)}</title>'
        f'<path d="{line}" fill="none" stroke="{colour}"{dashed}/><path d="{point}"/>'
        f'<text x="{label_x:g}" y="{top - 4 if rise < 0 else top + 12:g}" font-size="11">{_text(arc.deprel)}</text></g>'
    )


def _middles(words: Sequence[str], arcs: Sequence[tuple[int, Arc]]) -> tuple[list[float], float]:
    """Where the middle of each word is, from the left, and the width of all: words and relations must not touch."""
    half = [_width(word) * _WORD / 2 for word in words]
    near = [0.0] * len(words)  # what the relation between a word and the one before it needs
    for i, arc in arcs:
        need = _width(arc.deprel) * _LABEL
        if arc.head and abs(arc.head - 1 - i) == 1:
            near[max(i, arc.head - 1)] = max(near[max(i, arc.head - 1)], need + _SIDE)
        elif not arc.head:
            half[i] = max(half[i], need / 2)
    middles = [_GAP + half[0]] if words else []
    for i, (before, this) in enumerate(pairwise(half), 1):
        middles.append(middles[-1] + max(before + this, near[i]) + _GAP)
    return middles, (middles[-1] + half[-1] + _GAP if words else 2 * _GAP)


def _levels(arcs: dict[int, Arc]) -> dict[int, int]:
    """For each arc a level, above those of all shorter ones that it shares a stretch with; the root's above all."""
    spans = {i: tuple(sorted((i, arc.head - 1))) for i, arc in arcs.items() if arc.head}
    levels: dict[int, int] = {}
    for i, (left, right) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[1])):
        under = (levels[j] for j in levels if max(left, spans[j][0]) < min(right, spans[j][1]))
        levels[i] = 1 + max(under, default=0)
    highest = max(levels.values(), default=0)
    return {i: levels.get(i, highest + 1) for i in arcs}


def _width(text: str) -> int:
    """How many letters wide a text is: two for a Chinese character, none for an accent."""
    marks = ("Mn", "Me", "Cf", "Cc")
    return sum(
        2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
        if unicodedata.category(letter) not in marks
    )


def _text(text: str) -> str:
    """A text for SVG, in which U+FFFD stands for what XML cannot hold."""
    return escape(regex.sub(r"[\p{Cc}\p{Cs}\uFFFE\uFFFF]", "\ufffd", text))
