"""The tables of shifts: which alpha is picked, and what is compared with what, by hand."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import shift_tables

    yield shift_tables
    for name in ("shift_tables", "language_tables"):
        sys.modules.pop(name, None)


def row(language, seed, scores, picking=None, cosine=None, centred=False):
    given = {"task": "ner", "head": "D_7", "language": language, "seed": seed, "centred": centred, "scores": scores}
    return given if picking is None else {**given, "layer": 6, "picking": picking, "cosine": cosine}


ROWS = [
    row("en", 0, {"0": 80.0}),
    row("en", 0, {"0": 70.0}, centred=True),
    row("de", 0, {"0": 50.0, "0.5": 60.0, "1": 40.0}, {"0": 9, "0.5": 9, "1": 5}, {"0": 0.1, "0.5": 0.2, "1": 0.3}),
    row("de", 0, {"0": 48.0}, centred=True),
    row("sw", 0, {"0": 20.0, "0.5": 22.0, "1": 30.0}, {"0": 1, "0.5": 3, "1": 2}, {"0": 0.1, "0.5": 0.9, "1": 0.3}),
    row("sw", 0, {"0": 26.0}, centred=True),
]  # fmt: skip


def test_alpha_is_the_best_of_what_picks_and_the_smallest_of_equal_ones(tables):
    shift = tables.Shift("ner", lambda: [*ROWS, {**ROWS[0], "task": "pos"}])
    assert (shift.heads, shift.layers, shift.languages, shift.seeds) == (["D_7"], [6], ["de", "sw"], [0])
    assert shift.alphas("D_7", "de", 6, "dev") == [0]
    assert shift.alphas("D_7", "de", 6, "text") == [1]
    assert shift.alphas("D_7", "sw", 6, "dev") == shift.alphas("D_7", "sw", 6, "text") == [0.5]
    assert (shift.picked("dev"), shift.picked("text")) == ([0, 0.5], [1, 0.5])
    assert shift.mean("D_7", "plain") == 35
    assert shift.gains("D_7", "dev", 6) == [0, 2]
    assert shift.gains("D_7", "text", 6) == [-10, 2]
    assert shift.gains("D_7", "one", 6) == [-10, 10]
    assert shift.gains("D_7", "centred") == [-2, 6]
    assert shift.gain("D_7", "centred") == 2
    assert shift.higher("D_7", "text", 6) == 1
    assert (shift.everywhere("one"), shift.everywhere("centred")) == ([0], [2])


def test_the_table_has_every_side(tables):
    lines = tables.Shift("ner", lambda: ROWS).table()
    assert lines[2:] == [
        "| D_7, as it is | 35.0 |  |  |  | 80.0 |",
        "| D_7, centred in training | 37.0 | +2.0 |  | 1 of 2 | 70.0 |",
        "| D_7, shift at 6, alpha on dev | 36.0 | +1.0 |  | 1 of 2 |  |",
        "| D_7, shift at 6, alpha without labels | 31.0 | -4.0 |  | 1 of 2 |  |",
        "| D_7, shift at 6, alpha 1 | 35.0 | +0.0 |  | 1 of 2 |  |",
    ]
    assert tables.Shift("ner", lambda: ROWS).by_language("D_7", 6)[2] == (
        "| de | 50.0 | 50.0 | +0.0 | 0 | 40.0 | -10.0 | 1 | 48.0 | -2.0 |"
    )
