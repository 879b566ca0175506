"""Parts of the HTML report by hand: the drawing, the text of a sentence, which sentences are shown."""

import pytest

from dlfa_adapters.kinds.shown import Segment, direction, join_words, text_line
from dlfa_adapters.kinds.tagging.tagger import span_lines, tag_line
from dlfa_adapters.report.evaluation import RIGHT, WRONG, shown_sentences
from dlfa_adapters.report.page import as_html_text
from dlfa_adapters.report.sweep import line_chart
from dlfa_adapters.scores.intervals import Estimate
from dlfa_adapters.tasks import NER
from tests.predict.fakes import FakeTagger, ask, tagged


def test_a_line_chart():
    """From 40 to 80 in steps of 10: 194 units of height between y = 12 and y = 206."""
    scores = [Estimate(0.5, 0.45, 0.55), Estimate(None, None, None), Estimate(0.8, None, None)]
    chart = line_chart(["1", "2", "3"], scores, ("last", Estimate(0.4, None, None)))
    assert chart.ticks == [(206.0, "40"), (157.5, "50"), (109.0, "60"), (60.5, "70"), (12.0, "80")]
    first, third = chart.points
    assert (first.x, first.y, first.low, first.high, first.name) == (96.7, 157.5, 181.8, 133.2, "1")
    assert (third.x, third.y, third.low, third.label) == (347.3, 12.0, None, "3: 80.0")
    assert chart.path == "M96.7 157.5 L347.3 12.0"
    assert (chart.level.y, chart.level.label) == (206.0, "last: 40.0")


def test_a_chart_of_equal_scores_and_of_none():
    assert [text for _, text in line_chart(["1"], [Estimate(0.5, None, None)]).ticks] == ["50", "51"]
    assert line_chart(["1"], [Estimate(None, None, None)], ("last", Estimate(None, None, None))) is None


def test_names_of_an_axis_that_have_no_room_are_left_out():
    chart = line_chart([f"layer {i}" for i in range(24)], [Estimate(0.5, None, None)] * 24)
    shown_names = [point.name for point in chart.points if point.name]
    assert shown_names[0] == "layer 0"
    assert len(shown_names) <= 24 * 376 / 24 / (8 * 6.5)


@pytest.mark.parametrize(
    ("words", "language", "text"),
    [
        ("Anna met ( Bob ) , too .", "en", "Anna met (Bob), too."),
        ("我 在 上 海 。", "zh", "我在上海。"),
        ("在 i O S 上", "zh", "在iOS上"),
        ("Apple iPhone 是", "zh_Hans", "Apple iPhone是"),
        ("東京 と 大阪", "ja", "東京と大阪"),
        ("ไป เชียงใหม่ Google", "th", "ไปเชียงใหม่ Google"),
        ("मीरा गईं ।", "hi", "मीरा गईं।"),
        ("서울 에", "ko", "서울 에"),
        ("كيف حالك ؟", "ar", "كيف حالك؟"),
        ("", "en", ""),
    ],
)
def test_words_as_running_text(words, language, text):
    assert join_words(words.split(), language) == text


def test_a_word_may_be_empty():
    assert join_words(["a", "", "b"], "en") == "a  b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Google في دبي ومكتبها", "rtl"), ("דנה", "rtl"), ("Ali قال that", "ltr"), ("123", "ltr"),
     ("李明", "ltr"), ("", "ltr")],
)  # fmt: skip
def test_the_direction_is_that_of_most_letters(text, expected):
    assert direction(text) == expected


def test_what_html_cannot_hold_is_escaped():
    assert as_html_text("a\x00\x1b\ud800\tb\n") == "a\\x00\\x1b\\ud800\tb\n"
    assert as_html_text(3) == 3


def test_gold_and_model_are_two_lines_where_they_differ():
    words = ["Anna", "Lee", "met", "Bob", "in", "Rome", "."]
    gold = ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "O"]
    predicted = ["B-PER", "O", "O", "B-PER", "O", "B-ORG", "O"]
    first, second = span_lines(words, gold, predicted, "en")
    assert (first.role, second.role) == ("gold", "model")
    assert first.segments == [
        Segment("Anna Lee", False, "PER", False), Segment("met", True), Segment("Bob", True, "PER", True),
        Segment("in", True), Segment("Rome", True, "LOC", False), Segment(".", False),
    ]  # fmt: skip
    assert [(part.text, part.kind, part.right) for part in second.segments if part.kind] == [
        ("Anna", "PER", False), ("Bob", "PER", True), ("Rome", "ORG", False),
    ]  # fmt: skip
    [same] = span_lines(words, gold, ["I-PER", *gold[1:]], "en")  # ill-formed, and the same spans
    assert (same.role, same.segments[0].right) == ("", True)


def test_long_ones_are_cut():
    line, _ = span_lines(["w"] * 70, ["O"] * 70, ["O"] * 58 + ["B-PER"] + ["I-PER"] * 11, "en")
    assert (line.cut, line.segments[0].text) == (10, " ".join(["w"] * 60))
    assert tag_line(["w"] * 70, ["X"] * 70, ["Y"] * 70, "en").cut == 10
    assert text_line("w " * 61).cut == 1
    assert text_line("two  blanks").segments == [Segment("two  blanks")]


def test_examples_are_spread_over_the_data():
    rows = tagged("de", *[f"n{i}/O Anna/B-PER" for i in range(40)], *["a/O b/O"] * 5)
    found = ask(FakeTagger(lambda words: ["O", "B-PER" if int(words[0][1:] or 0) % 2 else "O"]
                           if words[0] != "a" else ["O", "O"]), rows)  # fmt: skip
    as_html_text = shown_sentences(found.languages[0], NER)
    assert (as_html_text.right, as_html_text.wrong) == (25, 20)
    assert [example.right for example in as_html_text.examples] == [False] * WRONG + [True] * RIGHT
    assert [example.name for example in as_html_text.examples[:WRONG]] == ["0", "8", "16", "24", "32"]
    assert [example.name for example in as_html_text.examples[WRONG:]] == [
        "1",
        "13",
        "27",
    ]  # none of those without a name
    assert as_html_text == shown_sentences(found.languages[0], NER)
