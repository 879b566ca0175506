"""How files are read is said in the same way to every command and function, and reaches the reader."""

import json

import pytest
import typer
from typer.testing import CliRunner

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning import resume_training
from dlfa_adapters.learning.tune import tune
from dlfa_adapters.runs.lifecycle import read_plan
from dlfa_adapters.scores.evaluate import evaluate_run
from dlfa_adapters.sweeps import run_sweep
from dlfa_cli.main import app

OPTIONS = {"--format", "--word-column", "--tag-column"}
READING = ("data check", "train", "evaluate", "compare", "sweep", "tune")


@pytest.mark.parametrize("name", READING)
def test_every_command_that_reads_has_the_options(name):
    command = typer.main.get_command(app)
    for part in name.split():
        command = command.commands[part]
    assert {option for parameter in command.params for option in parameter.opts} >= OPTIONS


@pytest.fixture
def layered(tmp_path):
    """A file with two layers of tags, as a historical corpus has them."""
    rows = ["TOKEN\tNE-COARSE\tNE-FINE", "# document = 1"]
    for word in ("Anna", "Bob", "Rome", "York") * 3:
        kind = "PER" if word in ("Anna", "Bob") else "LOC"
        rows += [f"{word}\tB-{kind}\tB-{kind}.x", "met\tO\tO", ""]
    path = tmp_path / "layers-en.tsv"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


class Killed(Exception):
    """Ends a training after its plan was written."""


def test_train_evaluate_tune_and_sweep_read_the_named_column(layered, start, tmp_path, tiny_folder):
    def kill(plan):
        raise Killed

    options = {"train_data": layered, "dev_data": layered, "tag_column": "NE-COARSE", "max_steps": 1, "fuse_layer": 2}
    with pytest.raises(Killed):
        start("layers", tmp_path / "r", "lora", **options, on_start=kill)
    assert read_plan(tmp_path / "r")["request"]["tag_column"] == "NE-COARSE"
    run = resume_training(tmp_path / "r")
    assert set(run.config["labels"]) == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
    _, plan = start("layers", tmp_path / "again", "lora", **options)
    [line] = {line for line in plan.lines() if line.startswith("Read: ")}
    assert line.startswith(f"Read: {layered}: 3 columns: word (TOKEN), tag (NE-COARSE), - (with a header row); IOB2;")
    report = evaluate_run(run, layered, tag_column=1, resamples=10)
    assert report.about["data"]["read"] == [line.removeprefix("Read: ")]
    given = {"train_data": layered, "dev_data": layered, "model": str(tiny_folder), "tag_column": 1, "language": "en"}
    result = tune("layers", out=tmp_path / "t", grid={"epochs": [1]}, tuning="features", fuse_layer=2, **given)
    assert set(result.run.config["labels"]) == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
    done = run_sweep(
        "layers", out=tmp_path / "s", target_data=layered, layers=[1], seeds=1, epochs=1, plots=False, **given
    )
    assert len(done.result.task.labels) == 5


def test_options_are_refused_where_nothing_is_read_from_files(start, tmp_path):
    with pytest.raises(ConfigError, match="tag_column says how files are read, but there is no file among the data"):
        start("ner", tmp_path / "r", "features", fuse_layer=2, tag_column=1)


def test_check_on_the_command_line(layered):
    done = CliRunner().invoke(app, ["data", "check", str(layered), "--tag-column", "NE-FINE", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["entities"] == {"PER.x": 6, "LOC.x": 6}
    assert report["read"].startswith("3 columns: word (TOKEN), -, tag (NE-FINE) (with a header row); IOB2; 2 types")
