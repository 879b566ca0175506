"""What a script gets that calls `train` and `evaluate_run`: lines in the log, and resuming where that is possible."""

import logging

import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning import train
from dlfa_adapters.runs.lifecycle import has_plan, read_plan
from dlfa_adapters.scores.evaluate import evaluate_run
from dlfa_adapters.scores.saved import read_evaluation


class Killed(Exception):
    """Ends a training after its plan was written."""


def kill(plan):
    raise Killed


def test_what_is_trained_and_how_it_goes_is_in_the_log(items, tiny_folder, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "dlfa_adapters"):
        train("ner", train_data=items["ner"], language="en", model=str(tiny_folder), tuning="lora", out=tmp_path / "r",
              batch_size=4, max_steps=50, fuse_layer=2)  # fmt: skip
    lines = "\n".join(caplog.messages)
    for begins in ("Encoder: ", "Tuning: lora (", "Head: dlfa, fuse layer 2, ", "Data: Python objects (en, 8 items)"):
        assert f"\n{begins}" in f"\n{lines}"
    assert "Steps: 50 steps, batch 4, learning rate 0.001, head 0.003, fp32; " in lines
    assert "There are no dev data" in lines
    assert "Step 50 of 50: loss " in lines
    assert f"Kept step 50; saved in {tmp_path / 'r'} after " in lines


def test_dev_scores_are_in_the_log(start, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "dlfa_adapters"):
        start("ner", tmp_path / "r", "full", max_steps=2, fuse_layer=2)
    assert [line for line in caplog.messages if line.startswith("Step 2 of 2: score on dev ")]


def test_auto_begins_where_there_is_nothing_and_goes_on_where_there_is(start, tmp_path):
    with pytest.raises(Killed):
        start("ner", tmp_path / "r", on_start=kill, resume="auto", max_steps=1)
    assert has_plan(tmp_path / "r")
    begun = read_plan(tmp_path / "r")["id"]
    run, _ = start("ner", tmp_path / "r", resume="auto", max_steps=1)
    assert run.config["training"]["id"] == begun
    again, _ = start("ner", tmp_path / "r", resume="auto", max_steps=1)
    assert again.config["training"]["id"] != begun


def test_evaluate_run_scores_and_saves(start, items, tmp_path):
    run, _ = start("xnli", tmp_path / "r", "features", fuse_layer=2)
    report = evaluate_run(run, items["xnli"], languages=["de"], out=tmp_path / "de", resamples=10)
    assert [row.language for row in report.table.languages] == ["de"]
    [saved] = read_evaluation(tmp_path / "de").languages
    assert saved.gold == [item[-1] for item in items["xnli"]]
    evaluate_run(str(run.folder), items["xnli"], languages=["de"], resamples=10)
    assert (tmp_path / "r-evaluated" / "items-test" / "evaluation.json").is_file()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ConfigError, match="is not a saved evaluation"):
        evaluate_run(run, "nowhere", out=tmp_path / "mine")
