"""Blocks without LoRA or adapters: nothing learns in them, and a training begins above those at the bottom."""

import json
import re

import pytest
import torch
from test_from_block import STEPS, assert_same, both, encoder  # noqa: F401
from test_resume import assert_equal_weights, kill_at_step
from typer.testing import CliRunner

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning import resume_training, train
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.tuning import get_tuning
from dlfa_cli.main import app

ADDED = ("lora_", ".loras.", ".adapters.ner.")


@pytest.fixture
def tuning_of(language_adapter):
    return lambda name: f"stack:{language_adapter}" if name == "stack" else name


def blocks_with_parameters(model):
    """The blocks, from 1, that LoRA or a task adapter has weights in."""
    names = [name for name, _ in model.named_parameters() if any(part in name for part in ADDED)]
    return {int(re.search(r"\.layers?\.(\d+)\.", name)[1]) + 1 for name in names}


@pytest.mark.parametrize("name", ["lora", "peft-lora:2", "bottleneck", "bottleneck:par_bn", "stack"])
def test_parameters_only_in_the_other_blocks_and_a_saved_run_has_them(name, start, tuning_of, logits, tmp_path):
    """The tiny encoder has three blocks."""
    run, plan = start("ner", tmp_path / "run", tuning_of(name), fuse_layer=2, leave_out=[3, 1], epochs=2)
    assert blocks_with_parameters(plan.model) == {2}
    assert run.config["training"]["leave_out"] == [1, 3]
    assert f", no {plan.tuning.adds} in block 1, 3; there is also" in plan.lines()[1]
    loaded = load_run(run)
    assert blocks_with_parameters(loaded.model) == {2}
    assert torch.equal(logits(loaded.model, loaded.tokenizer), logits(plan.model, plan.encoder.tokenizer))
    everywhere, other = start("ner", tmp_path / "all", tuning_of(name), fuse_layer=2, epochs=1)
    assert blocks_with_parameters(other.model) == {1, 2, 3}
    assert everywhere.config["training"]["leave_out"] is None


def test_in_every_family(family, tiny_model):
    for name in ("lora", "peft-lora", "bottleneck"):
        model = tiny_model(family)
        model.add_dlfa_head("ner", fuse_layer=2)
        tuning = get_tuning(name, (1, 2))
        if family == "albert":
            with pytest.raises(ConfigError, match="share 1 sets of weights, so none can be frozen or left out"):
                tuning.prepare(model, "ner")
            continue
        if family == "xmod" and name == "peft-lora":  # adapters renames its modules
            continue
        learns = [n for n, p in tuning.prepare(model, "ner").named_parameters() if p.requires_grad]
        numbers = {int(m[1]) for n in learns if (m := re.search(r"\.(?:layers?|block)\.(\d+)\.", n))}
        assert numbers == {2, 3}, name


@pytest.mark.parametrize("name", ["lora", "bottleneck", "stack"])
def test_a_training_begins_above_the_blocks_at_the_bottom(name, start, encoder, tuning_of, tmp_path):  # noqa: F811
    depth = 1 if name == "stack" else 2
    options = {"fuse_layer": depth + 1, "leave_out": f"1-{depth}"}
    options |= {"norm": "layer"}  # before batch norm a bias has no gradient but rounding, which Adam takes for one
    options |= {} if name == "stack" else {"model": encoder("bert")}
    (cached, plan), (through, other) = both(start, tmp_path, "ner", tuning_of(name), **options)
    assert_same(cached, through)
    states = f"blocks 1 to {depth} run"
    assert plan.lines()[-1].endswith(f"{states} once")
    assert other.lines()[-1] == f"Hidden states: {states} in every epoch"
    assert [run.config["training"]["states"] for run in (cached, through)] == ["cached", "through"]


def test_it_does_so_by_itself_and_says_which_layer_does_not_change(start, encoder, tmp_path):  # noqa: F811
    options = {**STEPS, "model": encoder("bert"), "leave_out": (1, 2)}
    run, plan = start("ner", tmp_path / "run", "lora", fuse_layer=2, **options)
    assert run.config["training"]["states"] == "cached"
    assert any(note.startswith("Fuse layer 2 lies in the frozen part (layers 0 to 2)") for note in plan.notes)
    _, plan = start("ner", tmp_path / "run", "lora", fuse_layer=3, **options)
    assert not any("frozen part" in note for note in plan.notes)
    with pytest.raises(ConfigError, match="--states cached needs a model of the package adapters; type --tuning lora"):
        start("ner", tmp_path / "other", "peft-lora", fuse_layer=3, states="cached", **options)


@pytest.mark.parametrize("tuning", ["full", "freeze:1", "features"])
def test_tunings_that_add_nothing_refuse_it_by_name(tuning, tmp_path):
    message = rf"--tuning {tuning} adds none to any; leave it out, or type one of lora, peft-lora, bottleneck, stack\."
    with pytest.raises(ConfigError, match=message):
        check_options("ner", tuning=tuning, leave_out=[1])
    with pytest.raises(ConfigError, match=message):
        train("ner", tuning=tuning, leave_out=[1], out=tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"leave_out": [3, 4]},
            r"names some of the blocks 1 to 3 of this encoder, got 3, 4; type e.g. --leave-out 1-1",
        ),
        ({"leave_out": "1-3"}, r"names some of the blocks 1 to 3 of this encoder, got 1, 2, 3"),
        ({"leave_out": [0, 1]}, r"leave_out must be numbers of blocks, from 1 up, got \[0, 1\]"),
        ({"leave_out": [1.5]}, r"leave_out must be numbers of blocks, from 1 up, got \[1.5\]"),
        ({"leave_out": "3-1"}, "expected blocks such as 4-9 or 1,7, got '3-1'"),
        ({"leave_out": "lowest"}, "expected blocks such as 4-9 or 1,7, got 'lowest'"),
        (
            {"leave_out": [1, 2], "fusion": "layer"},
            "names some of the blocks 1 to 2, the highest that the head reads, got 1, 2; .* --tuning features",
        ),
    ],
)
@pytest.mark.parametrize("tuning", ["lora", "peft-lora", "bottleneck"])
def test_blocks_that_cannot_be_left_out(options, message, tuning, start, tmp_path):
    with pytest.raises(ConfigError, match=message):
        start("ner", tmp_path / "run", tuning, **{"fuse_layer": 2, **options})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("tuning", ["lora", "peft-lora"])
def test_resumed_as_it_began_alone(tuning, start, encoder, tmp_path):  # noqa: F811
    data = tmp_path / "train-en.tsv"
    data.write_text("Anna\tB-PER\nmet\tO\nBob\tB-PER\n\nRome\tB-LOC\n\nthe\tO\nBank\tB-ORG\n\n" * 3, "utf-8")
    options = {**STEPS, "model": encoder("bert"), "fuse_layer": 3, "every": 2, "leave_out": (2, 1)}
    options |= {"train_data": str(data), "dev_data": str(data)}
    whole, _ = start("ner", tmp_path / "whole", tuning, **options)
    kill_at_step(3, start, "ner", tmp_path / "run", tuning, **options)
    for other in ([1], None):
        with pytest.raises(RunError, match=r"began with leave_out=\[1, 2\], now it is"):
            start("ner", tmp_path / "run", tuning, resume=True, **{**options, "leave_out": other})
    assert_equal_weights(resume_training(tmp_path / "run"), whole)


def test_on_the_command_line(encoder, tmp_path):  # noqa: F811
    data = tmp_path / "train-en.tsv"
    data.write_text("Anna\tB-PER\nmet\tO\n\nRome\tB-LOC\n\n" * 4, "utf-8")
    command = [
        "train",
        "ner",
        "--train",
        str(data),
        "--dev",
        str(data),
        "-m",
        encoder("bert"),
        "-k",
        "3",
        "--max-length",
        "64",
    ]
    command += ["--epochs", "2", "-o", str(tmp_path / "run"), "-t", "lora"]
    done = CliRunner().invoke(app, [*command, "--leave-out", "1-2", "--leave-out", "4"])
    assert done.exit_code == 0, done.output
    assert "no LoRA in block 1, 2, 4;" in " ".join(done.output.split())
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["training"]["leave_out"] == [1, 2, 4]
    with pytest.raises(ConfigError, match="expected blocks such as 4-9 or 1,7, got 'x'"):
        CliRunner().invoke(app, [*command, "--leave-out", "x"], catch_exceptions=False)
