"""Run folders: whole or not at all."""

import json

import pytest
from damage import damage

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.runs import check_run_place, read_run, write_run


def write_head(folder):
    (folder / "head").mkdir()
    (folder / "head" / "weights").write_bytes(b"weights")


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "runs" / "r", {"task": "ner", "labels": ["O"]}, write_head)


def test_what_was_written_is_read(run):
    again = read_run(run.folder)
    assert again.config == run.config
    assert again.config["task"] == "ner"
    assert again.config["format"] == 1
    assert set(again.config["files"]) == {"config.json", "head/weights"}
    assert again.config["versions"]["dlfa-adapters"] == "0.1.0"
    assert [path.name for path in run.folder.parent.iterdir()] == ["r"]


def test_an_earlier_run_is_replaced_whole(run):
    write_run(run.folder, {"task": "pos"}, lambda folder: (folder / "other").write_bytes(b"x"))
    assert read_run(run.folder).config["task"] == "pos"
    assert not (run.folder / "head").exists()
    assert [path.name for path in run.folder.parent.iterdir()] == ["r"]


def test_a_failure_while_writing_leaves_the_earlier_run(run):
    def fail(folder):
        (folder / "half").write_bytes(b"half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_run(run.folder, {"task": "pos"}, fail)
    assert read_run(run.folder).config["task"] == "ner"
    assert [path.name for path in run.folder.parent.iterdir()] == ["r"]


def test_another_folder_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("text")
    with pytest.raises(ConfigError, match="exists and is not a run folder"):
        write_run(tmp_path / "thesis", {}, write_head)
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "text"


def test_a_link_to_nothing_is_refused_before_the_work(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(ConfigError, match="exists and is not a run folder"):
        check_run_place(tmp_path / "link")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage("head/weights", "missing"), "lacks its file head/weights"),
        (damage("head/weights", "cut"), "is not the file that was written"),
        (damage("run.json", "missing"), "is not a run folder: it has no run.json"),
        (damage("run.json", "cut"), "is damaged"),
        (damage("run.json", "[]"), "is damaged"),
        (damage("run.json", json.dumps({"format": 99, "files": {}})), "has run format 99"),
    ],
)
def test_a_harmed_run_is_one_sentence(run, harm, message):
    harm(run.folder)
    with pytest.raises(RunError, match=message) as caught:
        read_run(run.folder)
    assert "\n" not in str(caught.value)


def test_a_folder_of_runs_names_some(run):
    (run.folder.parent / "other").mkdir()
    with pytest.raises(RunError, match=f"has no run.json; of the runs in it type one: {run.folder}"):
        read_run(run.folder.parent)


def test_no_folder_at_all(tmp_path):
    with pytest.raises(RunError, match="There is no run folder"):
        read_run(tmp_path / "nothing")
