"""Gains over a way of learning: means and correlations by hand, the table, what is drawn, what is refused."""

import pytest

from dlfa_adapters.analysis.gains import gains_table, measure_gains, plot_gains
from dlfa_adapters.ground.errors import DataError

SCORES = {
    "full": {"en": 80.0, "de": 60.0, "ja": 20.0, "sw": 40.0},
    "freeze:3": {"en": 79.0, "de": 61.0, "ja": 26.0, "sw": 44.0},
    "bilstm": {"en": 70.0, "de": 40.0, "ja": 20.0, "sw": 45.0},
}


def test_gains_are_over_targets_in_the_order_of_what_they_are_held_against():
    freeze, lstm = measure_gains(SCORES, "full")
    assert (freeze.name, lstm.name) == ("freeze:3", "bilstm")
    assert list(freeze.gains.items()) == [("en", -1.0), ("de", 1.0), ("sw", 4.0), ("ja", 6.0)]
    assert freeze.targets == ["de", "sw", "ja"]
    assert (freeze.mean, freeze.better) == (pytest.approx(11 / 3), 3)
    assert (lstm.mean, lstm.better) == (-5.0, 1)
    # base 60, 40, 20 against gains 1, 4, 6: deviations 20, 0, -20 and -8/3, 1/3, 7/3
    assert freeze.r == pytest.approx((20 * (-8 / 3) - 20 * (7 / 3)) / (800 * (64 + 1 + 49) / 9) ** 0.5)
    assert freeze.r == pytest.approx(-0.9934, abs=1e-4)
    assert 0 < freeze.p_value < 0.1


def test_sources_may_be_others_and_are_known_however_they_are_spelled():
    scores = {"a": {"eng_Latn": 1.0, "deu_Latn": 2.0}, "b": {"eng_Latn": 3.0, "deu_Latn": 5.0}}
    [found] = measure_gains(scores, "a")
    assert (found.targets, found.mean, found.r) == (["deu_Latn"], 3.0, None)
    [found] = measure_gains(scores, "a", sources=["de"])
    assert (found.targets, found.mean) == (["eng_Latn"], 2.0)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"a": {"de": 1.0}}, "expected scores of 'full' among a; name one of these"),
        ({"full": {"en": 1.0}}, "in a language that is no source, got en"),
        ({"full": {"en": 1.0, "de": 1.0}, "b": {"en": 1.0}}, "expected scores of b and full in the same languages"),
    ],
)
def test_what_cannot_be_held_against_each_other_is_refused(scores, told):
    with pytest.raises(DataError, match=told):
        measure_gains(scores, "full")


def test_the_table_has_a_line_a_way():
    table = gains_table("ner", SCORES, "full", measure_gains(SCORES, "full"))
    assert table.header == ["", "targets", "− full", "better in", "r of gain and full", "p"]
    assert table.rows[0] == ["full", "40.0", "", "", "", ""]
    assert table.rows[1][:5] == ["freeze:3", "43.7", "+3.7", "3 of 3", "-0.99"]
    assert table.rows[2][:4] == ["bilstm", "35.0", "-5.0", "1 of 3"]
    [alone] = gains_table("ner", {"full": SCORES["full"]}, "full", []).rows
    assert alone[:2] == ["full", "50.0"]


def texts(path):
    """What matplotlib wrote, in its order: it leaves each text of an SVG in a comment."""
    return [part.split(" -->")[0] for part in path.read_text("utf-8").split("<!-- ")[1:]]


def test_the_plot_has_a_panel_a_task_and_marks_what_is_below_the_scale(tmp_path):
    found = measure_gains(SCORES, "full")
    plot_gains({"ner": found, "pos": found[:1]}, "full", tmp_path / "x.svg")
    drawn = texts(tmp_path / "x.svg")
    assert [x for x in drawn if x in ("ner", "pos")] == ["ner", "pos"]
    assert [x for x in drawn if x in SCORES["full"]] == ["en", "de", "sw", "ja"] * 2
    assert [drawn.count(x) for x in ("freeze:3", "bilstm", "full")] == [2, 1, 0]
    assert [drawn.count(x) for x in ("61.0", "44.0", "▼40.0", "40.0", "70.0", "▼70.0")] == [2, 2, 1, 0, 1, 0]
    plot_gains({"ner": found}, "full", tmp_path / "y.svg", limit=5)
    assert texts(tmp_path / "y.svg").count("▼70.0") == 1
