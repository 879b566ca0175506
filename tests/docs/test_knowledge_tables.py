"""The tables of `knowledge.py`: what is compared with what, by hand."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import knowledge_analyses
    import knowledge_analysis_tables
    import knowledge_tables

    yield knowledge_tables, knowledge_analyses, knowledge_analysis_tables
    for name in ("knowledge_tables", "knowledge_analyses", "knowledge_analysis_tables", "language_tables", "measuring"):
        sys.modules.pop(name, None)


def row(system, seed, en, de, rate=1e-4, dev=50.0):
    cell = {"task": "ner", "system": system, "rate": rate, "seed": seed}
    return {"cell": cell, "macro_f1": {"en": en, "de": de}, "dev": dev}


ROWS = [
    row("cross", 0, 80.0, 60.0),
    row("cross", 0, 0.0, 0.0, rate=5e-5, dev=40.0),
    row("cross", 1, 82.0, 62.0),
    row("multi", 0, 81.5, 70.0),
    row("multi", 1, 80.5, 70.0),
    row("+DA", 0, 90.0, 62.0),
]


def test_gains_are_held_against_what_seeds_differ_by(modules):
    known = modules[0].Knowledge(ROWS)
    assert known.systems("ner") == ["cross", "multi", "+DA"]
    assert known.of("ner", "cross", "en") == [80, 82]  # the rate with the better dev score
    assert (known.gain("ner", "multi", "targets"), known.noise("ner", "multi", "targets")) == (9, pytest.approx(2**0.5))
    assert [known.sign("ner", "multi", x) for x in ("en", "de")] == [0, 1]
    assert (known.noise("ner", "+DA", "de"), known.sign("ner", "+DA", "de")) == (None, 0)  # one seed
    assert (known.cells("multi", 1), known.cells("multi", 0), known.cells("multi", -1)) == (1, 1, 0)
    assert (known.highest("ner", "+DA"), known.highest("ner", "cross")) == (2, 0)
    assert known.relative("ner", "+DA") == pytest.approx(50 * (9 / 81 + 1 / 61))
    assert known.gains()[2:] == [
        "| NER, multi | +0.0 ± 1.6 | **+9.0** ± 1.4 | **+9.0** ± 1.4 |",
        "| NER, +DA | +9.0 | +1.0 | +1.0 |",
    ]


def test_the_two_sides_of_a_pair_stand_in_any_order(modules):
    pair = {"a": "ner-cross", "b": "pos-multi", "k": 40, "overlap": 9, "rho": 0.1, "p_value": 0.5}
    known = modules[2].Analyses(lambda: {"overlaps": {"ner": [pair, {**pair, "b": "ner-multi", "overlap": 36}]}})
    assert (known.overlap("pos-multi", "ner", 40), known.overlap("ner-multi", "ner", 40)) == (9, 36)
    assert known.untrained("ner", 40) == []


def test_names_of_runs_are_those_of_models(modules):
    names = ["/w/runs/pos-cross-0.0001-0", "/w/runs/ner-multi+DA-5e-05-0", "/w/adapted-pawsx", "offline"]
    assert [modules[1].short(name) for name in names] == ["pos-cross", "ner-multi+DA", "adapted-pawsx", "offline"]


def test_the_maps_are_drawn(modules, tmp_path):
    found = json.loads((BENCHMARKS.parent / "docs/results/raw/knowledge-analyses.json").read_text("utf-8"))
    modules[1].draw_updates(found, tmp_path / "maps.svg")
    assert "sentiment, multi minus cross" in (tmp_path / "maps.svg").read_text("utf-8")
