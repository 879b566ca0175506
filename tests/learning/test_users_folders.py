"""A training deletes nothing that this library did not make, whatever the name."""

import json

import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.folders import MARKER
from dlfa_adapters.learning import resume_training, train, train_language
from dlfa_adapters.learning.tune import tune
from dlfa_adapters.runs import read_run
from dlfa_adapters.runs.lifecycle import work_folder

PLAN = {"id": "1", "milestones": []}


def begin(how, out):
    """Each refuses before it loads anything: there is no such encoder."""
    data = out.with_name("mine.tsv")
    data.write_text("Anna\tB-PER\n\n", "utf-8")
    if how == "train":
        return train("names", train_data=data, model="none", out=out)
    if how == "tune":
        return tune("names", train_data=data, model="none", out=out)
    return train_language("de", data, model="none", out=out)


def write_while_training(path):
    return lambda stage, *_: path.write_text("mine", "utf-8") if stage == "Training" else None


@pytest.mark.parametrize("how", ["train", "train_language", "tune"])
@pytest.mark.parametrize("inside", ["corpus.txt", "training.json", "search.json"])
@pytest.mark.parametrize("link", [False, True])
def test_a_users_folder_under_our_name_is_refused(how, inside, link, tmp_path):
    folder = tmp_path / ("names.tune" if how == "tune" else "names.training")
    real = tmp_path / "precious" if link else folder
    real.mkdir()
    (real / inside).write_text(json.dumps(PLAN), "utf-8")
    (real / "deep").mkdir()
    (real / "deep" / "more.txt").write_text("more", "utf-8")
    if link:
        folder.symlink_to(real, target_is_directory=True)
    reason = "is a symbolic link" if link else "is not a folder that this library made"
    with pytest.raises(ConfigError, match=rf"would come into {folder}, which {reason}; move it away, or give another"):
        begin(how, tmp_path / "names")
    assert (real / inside).read_text("utf-8") == json.dumps(PLAN)
    assert (real / "deep" / "more.txt").read_text("utf-8") == "more"


def test_an_empty_folder_is_taken_and_what_is_put_into_it_stays(start, tmp_path, caplog):
    out, folder = tmp_path / "run", tmp_path / "run.training"
    folder.mkdir()
    start("ner", out, progress=write_while_training(folder / "notes.txt"))
    assert sorted(path.name for path in folder.iterdir()) == [MARKER, "notes.txt"]
    assert "run.training stays: notes.txt is not of the training." in caplog.text
    start("ner", out)  # the folder is known
    assert (folder / "notes.txt").read_text("utf-8") == "mine"


def test_a_users_folder_beside_a_finished_run_stays_when_it_is_resumed(start, tmp_path):
    start("ner", tmp_path / "run")
    folder = work_folder(tmp_path / "run")
    folder.mkdir()
    (folder / "corpus.txt").write_text("precious", "utf-8")
    assert resume_training(tmp_path / "run").config["task"] == "ner"
    assert (folder / "corpus.txt").read_text("utf-8") == "precious"


def test_an_earlier_run_with_a_users_files_is_not_replaced(start, tmp_path, caplog):
    out = tmp_path / "run"
    start("ner", out)
    (out / "notes.md").write_text("mine", "utf-8")
    with pytest.raises(ConfigError, match=r"would be replaced, but has files in it that are not of it \(notes.md\)"):
        start("ner", out)
    (out / "notes.md").unlink()
    start("ner", out, seed=5, progress=write_while_training(out / "late.md"))
    assert read_run(out).config["seed"] == 5
    assert (tmp_path / "run-earlier-1" / "late.md").read_text("utf-8") == "mine"
    assert "what else was in it is kept in" in caplog.text


def test_a_run_json_of_another_program_is_no_run(tmp_path):
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "run.json").write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match=r"its run.json is not one of this library, or is damaged"):
        begin("train", tmp_path / "names")
    (tmp_path / "link").symlink_to(tmp_path / "names", target_is_directory=True)
    with pytest.raises(ConfigError, match="is a symbolic link; give the folder itself"):
        begin("train", tmp_path / "link")
