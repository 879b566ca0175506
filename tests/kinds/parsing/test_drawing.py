"""The picture of a tree, read back: which arcs are there, as what, from where to where."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.parsing.drawing import tree_svg
from dlfa_adapters.kinds.parsing.tree import Arc

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["She", "saw", "a", "man", "quickly"]
GOLD = [Arc(2, "nsubj"), Arc(0, "root"), Arc(4, "det:indef"), Arc(2, "obj"), Arc(2, "advmod")]
PREDICTED = [Arc(2, "nsubj"), Arc(0, "root"), Arc(4, "det"), Arc(2, "obl"), Arc(4, "advmod")]


def drawn(words=WORDS, gold=GOLD, predicted=PREDICTED):
    return ElementTree.fromstring(tree_svg(words, gold, predicted))


def arcs(svg):
    return [(g.get("class"), g.find(f"{SVG}title").text) for g in svg.findall(f"{SVG}g")]


def ends(group):
    """Where an arc starts and ends: x of its head, x and y of its dependent, and its level's y."""
    line = group.find(f"{SVG}path").get("d")
    numbers = [float(x) for x in re.findall(r"-?[\d.]+", line)]
    if "Q" not in line:  # the root's: M x y V y
        return None, numbers[0], numbers[2], numbers[1]
    return numbers[0], numbers[-3], numbers[-1], numbers[4]


def middles(svg):
    return {text.text: float(text.get("x")) for text in svg.findall(f"{SVG}text")}


def test_right_and_wrong_arcs_and_the_gold_ones_for_the_wrong():
    svg = drawn()
    assert arcs(svg) == [
        ("right", "She ← saw: nsubj"),
        ("right", "saw ← root: root"),
        ("right", "a ← man: det"),  # the subtype is left aside
        ("relation", "man ← saw: obl"),
        ("head", "quickly ← man: advmod"),
        ("gold", "man ← saw: obj"),
        ("gold", "quickly ← saw: advmod"),
    ]
    dashed = [g.get("class") for g in svg.findall(f"{SVG}g") if g.find(f"{SVG}path").get("stroke-dasharray")]
    assert dashed == ["head"]
    assert svg.get("aria-label") == "3 of 5 arcs are right"
    assert list(middles(svg)) == WORDS


def test_arcs_go_from_heads_to_dependents():
    svg = drawn()
    x = middles(svg)
    y = float(svg.find(f"{SVG}text").get("y"))
    for group in svg.findall(f"{SVG}g"):
        word, head = re.fullmatch(r"(\w+) ← (\w+): .*", group.find(f"{SVG}title").text).groups()
        start, stop, stop_y, level = ends(group)
        assert stop == x[word]
        assert (level > y) == (stop_y > y) == (group.get("class") == "gold")
        if head == "root":
            assert start is None
        else:
            assert abs(start - x[head]) < 6
            assert (start > x[head]) == (x[word] > x[head])  # it leaves on the side to which it goes


def test_a_right_tree_has_nothing_below_and_is_lower():
    right = drawn(predicted=GOLD)
    assert {kind for kind, _ in arcs(right)} == {"right"}
    assert float(right.get("height")) < float(drawn().get("height"))


def test_from_the_right_for_scripts_that_are_written_so():
    words = ["הילד", "ראה", "כלב"]
    x = middles(drawn(words, *[[Arc(2, "nsubj"), Arc(0, "root"), Arc(2, "obj")]] * 2))
    assert x[words[0]] > x[words[1]] > x[words[2]]
    x = middles(drawn())
    assert x["She"] < x["saw"] < x["quickly"]


@pytest.mark.parametrize("count", [2, 3, 9, 40])
def test_no_two_arcs_lie_on_each_other(count):
    words = [f"w{i}" for i in range(count)]
    heads = [0, *(max(1, i * 7 % i) if i > 1 else 1 for i in range(1, count))]
    gold = [Arc(head, "dep") for head in heads]
    lines = [ends(g) for g in drawn(words, gold, gold).findall(f"{SVG}g")]
    lines = [(min(a, b), max(a, b), level) for a, b, _, level in lines if a is not None]
    for one, other in combinations(lines, 2):
        assert one[2] != other[2] or max(one[0], other[0]) >= min(one[1], other[1])


def test_words_and_relations_do_not_touch_each_other():
    words = ["a", "b", "互联网上的一个很长的词", "c", "internationalisation"]
    gold = [Arc(2, "a_very_long_relation"), Arc(0, "another_long_root"), Arc(2, "x"), Arc(3, "x"), Arc(4, "y")]
    svg = drawn(words, gold, gold)
    x = list(middles(svg).values())
    half = [4.2 * (2 * len(word) if ord(word[0]) > 255 else len(word)) for word in words]
    assert all(x[i] + half[i] + 8 < x[i + 1] - half[i + 1] for i in range(4))
    assert x[1] - x[0] > 6 * len("a_very_long_relation")
    assert x[0] - half[0] > 0
    assert x[4] + half[4] < float(svg.get("width"))


def test_whatever_a_word_holds_the_picture_is_well_formed():
    words = ["<b>", "\"&'", "\x00\x1b\ud800", ""]
    gold = [Arc(0, "<root>"), Arc(1, "a&b"), Arc(1, "x"), Arc(1, "y")]
    svg = drawn(words, gold, gold)
    assert [text.text or "" for text in svg.findall(f"{SVG}text")] == ["<b>", "\"&'", "\ufffd" * 3, ""]
    assert arcs(svg)[0] == ("right", "<b> ← root: <root>")


def test_heads_outside_the_sentence_are_not_drawn_and_no_words_are_no_mistake():
    assert len(arcs(drawn(["a", "b"], [Arc(0, "root"), Arc(1, "x")], [Arc(0, "root"), Arc(7, "x")]))) == 2
    assert arcs(drawn([], [], [])) == []


def test_an_arc_for_each_word():
    with pytest.raises(DataError, match="expected 5 predictions for sentence 1"):
        tree_svg(WORDS, GOLD, GOLD[1:])
