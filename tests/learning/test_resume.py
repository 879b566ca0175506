"""Killed with signal 9 at any moment and resumed, a training ends with the weights of one that ran through."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from fresh import DLFA
from safetensors.torch import load_file
from typer.testing import CliRunner

import dlfa_adapters.learning.run as run_module
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning import resume_training, safeguards, train
from dlfa_adapters.learning.safeguards import is_whole, last_whole
from dlfa_adapters.runs import read_run
from dlfa_adapters.runs.lifecycle import work_folder
from dlfa_cli.main import app

STEPS = {"batch_size": 2, "epochs": 3, "every": 3, "fuse_layer": 2}  # 12 steps; checkpoints in the midst of epochs
TUNINGS = ("full", "lora", "peft-lora", "stack")


def weights(run):
    """All tensors of a run, by file and name."""
    files = sorted(run.folder.rglob("*.safetensors"))
    return {(str(f.relative_to(run.folder)), name): t for f in files for name, t in load_file(f).items()}


def assert_equal_weights(run, other):
    ours, theirs = weights(run), weights(other)
    assert ours.keys() == theirs.keys()
    assert len(ours) > 10
    for key, tensor in ours.items():
        assert tensor.equal(theirs[key]), key
    assert run.config["training"]["dev_scores"] == other.config["training"]["dev_scores"]
    assert run.config["training"]["best"] == other.config["training"]["best"]


@pytest.mark.skipif(os.name == "nt", reason="locks of folders")
@pytest.mark.parametrize("tuning", ["full", "features"])
def test_a_run_is_trained_by_one_process_at_a_time(tuning, start, tmp_path):
    def second(plan):
        with pytest.raises(ConfigError, match=r"Another process is training .*run; wait for it, or give another"):
            start("ner", tmp_path / "run", tuning, seed=1)
        raise RuntimeError("and the first one fails")

    with pytest.raises(RuntimeError, match="the first one fails"):
        start("ner", tmp_path / "run", tuning, on_start=second)
    run, _ = start("ner", tmp_path / "run", tuning, seed=2)
    assert run.config["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def killed(work):
    """Run something in a forked process that ends by signal 9."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)  # it should not get here
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def data(items, tmp_path_factory):
    """The sentences as files, so that a training can be resumed by the name of its run."""
    folder = tmp_path_factory.mktemp("data")
    for split, sentences in (("train", items["ner"]), ("dev", items["ner"][:4])):
        rows = ["".join(f"{w}\t{t}\n" for w, t in zip(*s, strict=True)) for s in sentences]
        (folder / f"{split}-en.tsv").write_text("\n".join(rows), "utf-8")
    return {"train_data": str(folder / "train-en.tsv"), "dev_data": str(folder / "dev-en.tsv")}


@pytest.fixture(scope="module")
def through(start, data, language_adapter, tmp_path_factory):
    """Trainings that were never interrupted."""
    root = tmp_path_factory.mktemp("through")
    names = {name: f"stack:{language_adapter}" if name == "stack" else name for name in TUNINGS}
    return {name: start("ner", root / name, tuning, **data, **STEPS)[0] for name, tuning in names.items()}


def kill_at_step(step, start, *args, **options):
    seen = [0]

    def progress(stage, done, total):
        seen[0] += done if stage == "Training" else 0
        if seen[0] == step:
            die()

    killed(lambda: start(*args, **options, progress=progress))


@pytest.mark.parametrize(("step", "tuning"), [(2, "full"), (5, "full"), (11, "full"), *((5, t) for t in TUNINGS[1:])])
def test_killed_at_a_step(step, tuning, start, data, through, tmp_path):
    name = through[tuning].config["tuning"]
    kill_at_step(step, start, "ner", tmp_path / "run", name, **data, **STEPS)
    assert not (tmp_path / "run").exists()
    whole = sorted(path.name for path in work_folder(tmp_path / "run").glob("checkpoint-*"))
    assert whole == {2: [], 5: ["checkpoint-3"], 11: ["checkpoint-6", "checkpoint-9"]}[step] or len(whole) == 3
    run = resume_training(tmp_path / "run")
    assert_equal_weights(run, through[tuning])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("moment", ["seal", "prune"])
def test_killed_while_a_checkpoint_is_written(moment, start, data, through, tmp_path, monkeypatch):
    calls = []

    def second_call(*args):
        calls.append(args)
        if len(calls) == 2:
            die()
        getattr(safeguards, moment)(*args)

    with monkeypatch.context() as patch:
        patch.setattr(f"dlfa_adapters.learning.trainer.{moment}", second_call)
        killed(lambda: start("ner", tmp_path / "run", **data, **STEPS))
    folder = work_folder(tmp_path / "run")
    assert is_whole(folder / "checkpoint-3")
    assert is_whole(folder / "checkpoint-6") == (moment == "prune")
    assert_equal_weights(resume_training(tmp_path / "run"), through["full"])


def test_a_checkpoint_is_whole_with_its_files_and_no_others(tmp_path):
    folder = tmp_path / "checkpoint-3"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "weights").write_bytes(b"1")
    safeguards.seal(folder)
    assert is_whole(folder)
    (folder / "pytorch_model.bin").write_bytes(b"2")  # nothing vouches for it, and Trainer would read it
    assert not is_whole(folder)
    (folder / "pytorch_model.bin").unlink()
    (folder / "deep" / "weights").unlink()
    assert not is_whole(folder)


WRITING = {
    "head and encoder": "dlfa_adapters.learning.finish.save_trained",
    "checksums": "dlfa_adapters.runs.sha256_of",
    "just before it is there": "dlfa_adapters.runs.Path.rename",
}


@pytest.mark.parametrize("moment", WRITING)
def test_killed_while_the_run_is_written(moment, start, data, through, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(WRITING[moment], die)
        killed(lambda: start("ner", tmp_path / "run", **data, **STEPS))
    assert not (tmp_path / "run").exists()
    assert_equal_weights(resume_training(tmp_path / "run"), through["full"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_killed_while_an_earlier_run_is_replaced(start, data, through, tmp_path, monkeypatch):
    start("ner", tmp_path / "run", **data, **{**STEPS, "epochs": 1})
    calls, rename = [], Path.rename

    def second_call(path, target):
        calls.append(path)
        if len(calls) == 2:
            die()
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr("dlfa_adapters.runs.Path.rename", second_call)
        killed(lambda: start("ner", tmp_path / "run", **data, **STEPS))
    assert not (tmp_path / "run").exists()  # the earlier run is aside, the new one not yet there
    assert_equal_weights(resume_training(tmp_path / "run"), through["full"])


@pytest.mark.parametrize("moment", ["before", "in the midst"])
def test_killed_before_the_checkpoints_are_deleted(moment, start, data, through, tmp_path, monkeypatch):
    def begin_and_die(run):
        if moment == "in the midst":
            (work_folder(run) / "training.json").unlink()
        die()

    with monkeypatch.context() as patch:
        patch.setattr("dlfa_adapters.runs.lifecycle.remove_work", begin_and_die)
        killed(lambda: start("ner", tmp_path / "run", **data, **STEPS))
    assert work_folder(tmp_path / "run").is_dir()
    stages = []
    run = resume_training(tmp_path / "run", progress=lambda *stage: stages.append(stage))
    assert stages == []  # nothing is left to do
    assert_equal_weights(run, through["full"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("harm", ["cut", "missing", "no manifest"])
def test_a_damaged_checkpoint_is_never_loaded(harm, start, data, through, tmp_path):
    kill_at_step(8, start, "ner", tmp_path / "run", **data, **STEPS)
    folder = work_folder(tmp_path / "run")
    newest = folder / "checkpoint-6"
    file = newest / {"cut": "model.safetensors", "missing": "optimizer.pt", "no manifest": "complete.json"}[harm]
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    else:
        file.unlink()
    assert last_whole(folder) == folder / "checkpoint-3"
    assert not newest.exists()
    assert_equal_weights(resume_training(tmp_path / "run"), through["full"])


def test_features_begin_again(start, data, tmp_path):
    """Their training takes seconds, so there are no checkpoints: it runs again, to the same end."""
    options = {**data, **STEPS, "every": None, "learning_rate": 3e-3}
    whole, _ = start("ner", tmp_path / "whole", "features", **options)
    kill_at_step(2, start, "ner", tmp_path / "run", "features", **options)
    assert_equal_weights(resume_training(tmp_path / "run"), whole)


def test_early_stopping_is_the_same_after_a_resume(start, data, tmp_path):
    options = {**STEPS, "epochs": 40, "patience": 2, "learning_rate": 1e-6, "every": 2}
    whole, _ = start("ner", tmp_path / "whole", **data, **options)
    count = len(whole.config["training"]["dev_scores"])
    assert count == 3  # the first is the best, and two are no better
    kill_at_step(5, start, "ner", tmp_path / "run", **data, **options)
    assert_equal_weights(resume_training(tmp_path / "run"), whole)


def test_a_stop_is_not_trained_past(start, data, tmp_path, monkeypatch):
    """Killed after the last checkpoint of a training that early stopping had ended."""
    options = {**STEPS, "epochs": 40, "patience": 2, "learning_rate": 1e-6, "every": 2}
    whole, _ = start("ner", tmp_path / "whole", **data, **options)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_training_run", die)
        killed(lambda: start("ner", tmp_path / "run", **data, **options))
    steps = []
    run = resume_training(tmp_path / "run", progress=lambda stage, done, total: steps.append((stage, done)))
    assert_equal_weights(run, whole)
    assert sum(done for stage, done in steps if stage == "Training") == 6  # where it was, and no step more


def test_a_process_killed_from_outside(start, data, through, tiny_folder, tmp_path, fresh):
    """The command itself, killed by another process as soon as there is a checkpoint."""
    arguments = [
        "ner", "--train", data["train_data"], "--dev", data["dev_data"], "--language", "en", "-m", tiny_folder, "-t",
        "full", "-k", "2", "--batch-size", "2", "--epochs", "3", "--every", "3", "--lr", "0.01",
    ]  # fmt: skip
    fresh.start(DLFA, "train", *arguments, "-o", tmp_path / "run")
    folder = work_folder(tmp_path / "run")
    until = time.monotonic() + 120
    while not list(folder.glob("checkpoint-*")) and fresh.send(0) and time.monotonic() < until:
        time.sleep(0.005)
    fresh.send(signal.SIGKILL)
    if fresh.wait().returncode == 0:  # it was faster
        pytest.skip("the training ended before it could be killed")
    assert folder.is_dir()
    done = CliRunner().invoke(app, ["train", "--resume", str(tmp_path / "run"), "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["training"]["best"] == through["full"].config["training"]["best"]
    assert_equal_weights(read_run(tmp_path / "run"), through["full"])


def test_refusals(start, data, tmp_path, tiny_folder, items):
    with pytest.raises(RunError, match=r"There is no training of .*run to resume"):
        resume_training(tmp_path / "run")
    kill_at_step(4, start, "ner", tmp_path / "run", **data, **STEPS)
    with pytest.raises(RunError, match=r"began with fuse_layer=\[2\], now it is \[1\]"):
        start("ner", tmp_path / "run", resume=True, **{**data, **STEPS, "fuse_layer": 1})
    copy = tmp_path / "train-en.tsv"
    shutil.copy(data["train_data"], copy)
    kill_at_step(4, start, "ner", tmp_path / "other", **{**data, "train_data": str(copy)}, **STEPS)
    copy.write_text("Rome\tB-LOC\n" * 3 + "\n", "utf-8")
    with pytest.raises(RunError, match=r"The data of the training of .*other changed since it began"):
        resume_training(tmp_path / "other")
    kill_at_step(4, start, "ner", tmp_path / "objects", **STEPS)
    with pytest.raises(RunError, match="was trained on Python objects"):
        resume_training(tmp_path / "objects")
    (tmp_path / "thesis").mkdir()
    with pytest.raises(ConfigError, match="exists and is not a run folder"):
        train("ner", train_data=items["ner"], model=str(tiny_folder), out=tmp_path / "thesis")
