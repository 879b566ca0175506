"""Rows of `benchmarks/tunings.py`: every score of a language is kept, and tables show UAS where rows have it."""

import sys
from pathlib import Path

import pytest

from dlfa_adapters.learning import train
from dlfa_adapters.predict.run import predict_run
from tests.kinds.parsing.test_runs import by_hand
from tests.kinds.parsing.treebank import OPTIONS, toy_treebanks

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def tunings(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import tunings

    yield tunings
    for name in ("tunings", "tunings_cell", "measuring"):
        sys.modules.pop(name, None)


def row(seed, las, uas=None, head="last"):
    cell = {"task": "parse", "tuning": "lora", "head": head, "options": {"seed": seed}}
    beside = {} if uas is None else {"all_scores": {"las": las, "uas": uas}}
    return {
        "cell": cell, "scores": las, "dev": 80.0, "rates": [0.002, 0.003], "head": {"fuse_layer": (4,)}, **beside
    }  # fmt: skip


def test_every_score_of_a_parser_is_kept_and_is_that_counted_by_hand(tunings, tiny_folder, tmp_path):
    import tunings_cell

    data = toy_treebanks(tmp_path / "ud")
    run = train("parse", train_data=data, model=str(tiny_folder), out=tmp_path / "run", epochs=2, **OPTIONS)
    cell = {"task": "parse", "tuning": "full", "data": str(data)}
    found = tunings_cell.target_scores(run, cell, {"de": "test", "en": "test"})
    assert list(found) == ["las", "uas", "las_nopunct", "uas_nopunct"]
    for each in predict_run(run, str(data), languages=["de", "en"]).languages:
        [file] = data.glob(f"*/{each.language}_toy-ud-test.conllu")
        counted = by_hand(file, each.predicted)
        assert {name: found[name][each.language] for name in counted} == {
            name: pytest.approx(100 * score, abs=0.006) for name, score in counted.items()
        }
        assert found["las"][each.language] < found["uas"][each.language] < 100  # or nothing is told apart


def test_tables_show_uas_where_rows_have_it(tunings):
    new = [row(0, {"en": 80.0, "de": 50.0, "ja": 20.0}, {"en": 90.0, "de": 60.0, "ja": 40.0}),
           row(1, {"en": 82.0, "de": 54.0, "ja": 24.0}, {"en": 92.0, "de": 64.0, "ja": 44.0})]  # fmt: skip
    old = [row(0, {"en": 81.0, "de": 51.0, "ja": 21.0}, head="dlfa@4")]
    assert tunings.shown(new, ["de"]) == "62.0/52.0"
    assert tunings.shown(new, ["de", "ja"]) == "52.0/37.0"
    assert tunings.shown(old, ["de"]) == "51.0"
    assert tunings.shown([*new, *old], ["de"]) == "51.7"  # LAS alone: not of the same rows
    header, _, with_both, without = tunings.over_seeds([*new, *old]).splitlines()
    cells = [[cell.strip() for cell in line.split("|")] for line in (header, with_both, without)]
    assert cells[0][5:9] == ["targets", "English test", "targets, UAS", "English test, UAS"]
    assert cells[1][5:9] == ["37.0 ± 2.8", "81.0 ± 1.4", "52.0 ± 2.8", "91.0 ± 1.4"]
    assert cells[2][5:9] == ["36.0", "81.0", "", ""]
    assert "UAS" not in tunings.over_seeds(old)
