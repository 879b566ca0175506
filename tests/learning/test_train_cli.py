"""`dlfa train`: what it says, what it saves, and that other commands take it."""

import json

import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.runs.lifecycle import training_work
from dlfa_cli.main import app


@pytest.fixture
def dlfa(tiny_folder):
    def run(*arguments):
        options = ("--model", str(tiny_folder)) if arguments[0] == "train" and "--resume" not in arguments else ()
        return CliRunner().invoke(app, [*map(str, arguments), *options], catch_exceptions=False)

    return run


@pytest.fixture
def files(items, tmp_path):
    """Someone's own CoNLL files, with a label of their own."""
    sentences = [*items["ner"], (["Thor", "met", "Anna"], ["B-MYTH", "O", "B-PER"])]
    text = "\n".join("".join(f"{w} {t}\n" for w, t in zip(*sentence, strict=True)) for sentence in sentences)
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_a_file_in_and_a_tagger_out(dlfa, files):
    run = files / "mine"
    done = dlfa(
        "train", "my-ner", "--train", files / "train.conll", "--dev", files / "dev.conll", "-l", "en", "--out", run,
        "--epochs", 2,
    )  # fmt: skip
    assert done.exit_code == 0
    for said in ("Tuning: " + ("lora" if torch.cuda.is_available() else "features"), "there is also full, freeze",
                 "fuse layer 2", "9 labels", "train.conll (en, 9 items)", "learn ("):  # fmt: skip
        assert said in done.stderr
    assert f"Saved in {run}" in done.stdout
    assert "span_f1_lenient on en dev:" in done.stdout
    [row] = json.loads(dlfa("predict", run, "Ana conoció a Thor.", "--json").stdout)
    assert len(row["tags"]) == 5
    assert {tag[2:] for tag in row["tags"]} <= {"", "PER", "LOC", "ORG", "MYTH"}
    report = dlfa("evaluate", run, "--data", files / "dev.conll", "--languages", "de", "--json")
    assert report.exit_code == 0, report.output


def test_json_and_options(dlfa, files):
    done = dlfa(
        "train", "ner", "--train", files / "train.conll", "--dev", "none", "--labels", "data", "-t", "lora:2",
        "-k", 2, "-k", 1, "--gate", "attention", "--init", "identity", "--norm", "layer", "--lr", "0.01",
        "--head-lr", "0.02", "--batch-size", 4, "--micro-batch", 2, "--max-steps", 2, "--pooling", "last",
        "--max-length", 16, "--out", files / "run", "--json",
    )  # fmt: skip
    config = json.loads(done.stdout)
    assert config["head"] == {
        "name": "ner", "fusion": "dlfa", "fuse_layer": [2, 1], "gate": "attention", "reduction": 4, "branches": "both",
        "norm": "layer", "init": "identity", "classifier": "linear",
    }  # fmt: skip
    assert config["windows"] == {"max_length": 16, "context": 64, "pooling": "last"}
    training = config["training"]
    assert (training["learning_rate"], training["head_learning_rate"], training["rank"]) == (0.01, 0.02, 2)
    assert (training["batch_size"], training["micro_batch_size"], training["best"]) == (4, 2, "step 2")
    assert config["tuning"] == "lora:2"
    assert "B-MYTH" in config["labels"]


@pytest.mark.parametrize("fusion", ["last", "layer", "scalar_mix", "concat"])
@pytest.mark.parametrize("tuning", ["features", "bottleneck"])
def test_every_fusion(fusion, tuning, dlfa, files):
    layer = ("-k", 2) if fusion in ("layer", "concat") else ()
    done = dlfa(
        "train", "my-ner", "--train", files / "train.conll", "--dev", files / "dev.conll", "--fusion", fusion, *layer,
        "-t", tuning, "--epochs", 1, "--out", files / fusion,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert f"Head: {fusion}, " in done.stderr
    assert ", gate" not in done.stderr  # none of these has one
    assert dlfa("predict", files / fusion, "Anna").exit_code == 0


def test_refusals(dlfa, tmp_path):
    for arguments, error, message in (
        (["train"], ConfigError, "Give a task, or --resume"),
        (["train", "ner", "--resume", tmp_path / "x"], ConfigError, "Give a task, or --resume"),
        (["train", "--resume", tmp_path / "x"], RunError, "There is no training of"),
        (["train", "ner", "-t", "freeze"], ConfigError, "type e.g. --tuning freeze:6"),
    ):
        with pytest.raises(error, match=message):
            dlfa(*arguments)


def test_resume_takes_no_other_options(dlfa, tmp_path):
    with pytest.raises(ConfigError, match="goes on with the options of the beginning; leave out --epochs, --lr"):
        dlfa("train", "--resume", tmp_path / "run", "--epochs", 3, "--lr", 0.1)


def test_beginning_anew_is_told(dlfa, files):
    given = ("train", "ner", "--train", files / "train.conll", "--labels", "data", "-t", "lora", "--max-steps", 1)
    training_work(files / "run").begin()
    (files / "run.training" / "training.json").write_text("{}", "utf-8")
    done = dlfa(*given, "--out", files / "run")
    assert f"A training of {files / 'run'} that was cut short begins anew; --resume {files / 'run'}" in done.stderr
    assert "begins anew" not in dlfa(*given, "--out", files / "other").stderr


def test_predict_takes_one_language_adapter(dlfa, files):
    dlfa("train", "ner", "--train", files / "train.conll", "--labels", "data", "-t", "lora", "--max-steps", 1,
         "--out", files / "run")  # fmt: skip
    with pytest.raises(ConfigError, match="takes one folder, got sw=adapters/sw; type --language-adapter adapters/sw"):
        dlfa("predict", files / "run", "--language-adapter", "sw=adapters/sw", "Anna")


@pytest.mark.parametrize("pairs", [True, False])
def test_a_task_of_ones_own_tells_whether_it_takes_pairs(pairs, dlfa, tmp_path):
    lines = [f"a text {i}" + f"\tanother {i}" * pairs + f"\t{'yes' if i % 2 else 'no'}" for i in range(8)]
    (tmp_path / "mine-en.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    run = tmp_path / "run"
    done = dlfa("train", "mine", "--train", tmp_path / "mine-en.tsv", "-t", "lora", "--max-steps", 1, "--out", run)
    assert json.loads((run / "run.json").read_text("utf-8"))["pair"] is pairs
    assert ("\\t…" in done.stdout) == pairs
    if pairs:
        with pytest.raises(DataError, match="expected a pair"):
            dlfa("predict", run, "one text")
    else:
        assert len(dlfa("predict", run, "one\ttext", "another").stdout.splitlines()) == 2


def test_the_control_is_called_so(start, tmp_path):
    """Its fuse layer is the last one: the head has the size of DLFA, and nothing to fuse."""
    _, plan = start("ner", tmp_path / "run", "features", fuse_layer=3)
    assert "Layer 3 is the last one: this is the control D_3, the last layer fused with itself." in plan.notes
    _, plan = start("ner", tmp_path / "two", "features", fuse_layer=2)
    assert not [note for note in plan.notes if "control" in note]
