"""Blocks that do not change run once, and the rest of the training is what it would have been through all of them."""

import re

import pytest
import torch
import transformers
from adapters import AdapterConfig, LoRAConfig
from test_resume import assert_equal_weights, kill_at_step, weights
from tiny_tokenizer import character_tokenizer
from typer.testing import CliRunner

from dlfa_adapters.encoders.parts import blocks_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.learning import from_block, resume_training
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.tuning import get_tuning
from dlfa_cli.main import app

_BERT = {
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 80,
}
_DEBERTA = {
    "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False, "position_buckets": 8,
    "share_att_key": True, "norm_rel_ebd": "layer_norm",
}  # fmt: skip
ENCODERS = {
    "bert": (transformers.BertModel, transformers.BertConfig, _BERT),
    "xlm-roberta": (transformers.XLMRobertaModel, transformers.XLMRobertaConfig, _BERT),
    "mdeberta": (transformers.DebertaV2Model, transformers.DebertaV2Config, {**_BERT, **_DEBERTA}),
}
STEPS = {"batch_size": 4, "epochs": 3, "learning_rate": 1e-3, "max_length": 64}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """encoder("bert"): the folder of an encoder of four blocks, with dropout."""
    made = {}

    def build(name):
        if name not in made:
            cls, config, options = ENCODERS[name]
            folder, tokenizer = tmp_path_factory.mktemp(name), character_tokenizer()
            torch.manual_seed(0)
            cls(config(vocab_size=len(tokenizer), **options)).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            made[name] = str(folder)
        return made[name]

    return build


def both(start, out, *args, **options):
    """The same training from cached states and through all blocks."""
    task, *rest = args
    return [start(task, out / how, *rest, states=how, **{**STEPS, **options}) for how in ("cached", "through")]


def assert_same(cached, through):
    ours, theirs = weights(cached), weights(through)
    assert ours.keys() == theirs.keys()
    for key, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[key], atol=1e-4, rtol=1e-4, msg=str(key))
    for name in ("dev_scores", "best"):
        assert cached.config["training"][name] == through.config["training"][name]


@pytest.mark.parametrize("task", ["ner", "xnli"])
@pytest.mark.parametrize("name", ENCODERS)
def test_the_same_weights_either_way(name, task, start, encoder, tmp_path):
    (cached, plan), (through, other) = both(start, tmp_path, task, "freeze:2", model=encoder(name), fuse_layer=3)
    assert_same(cached, through)
    assert cached.config["training"]["states"] == "cached"
    assert through.config["training"]["states"] == "through"
    assert plan.lines()[-1].endswith("blocks 1 to 2 run once")
    assert other.lines()[-1] == "Hidden states: blocks 1 to 2 run in every epoch"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cached", "through"]


HEADS = {
    "a layer of the frozen part": {"fuse_layer": 1},
    "the last frozen layer": {"fuse_layer": 2},
    "embeddings and a layer above": {"fuse_layer": (0, 3)},
    "all layers": {"fusion": "scalar_mix"},
    "one frozen layer alone": {"fusion": "layer", "fuse_layer": 1},
    "recomputed activations": {"fuse_layer": 1, "gradient_checkpointing": True},
    "parts of batches": {"fuse_layer": 1, "micro_batch_size": 2, "norm": "layer"},
    "without dev data": {"fuse_layer": 3, "dev_data": "none"},
}


@pytest.mark.parametrize("case", HEADS)
def test_heads_and_options(case, start, encoder, tmp_path):
    (cached, _), (through, _) = both(start, tmp_path, "ner", "freeze:2", model=encoder("bert"), **HEADS[case])
    assert_same(cached, through)


def test_the_frozen_blocks_run_once(start, encoder, tmp_path):
    rows = {"cached": 0, "through": 0}

    def watch(how):
        def count(module, args, kwargs, output):
            rows[how] += len(output[0])

        def begin(plan):
            for block in blocks_of(plan.model)[:3]:
                block.attention.register_forward_hook(count, with_kwargs=True)

        return begin

    for how in rows:
        options = {"model": encoder("bert"), "fuse_layer": 4, "states": how, "epochs": 10}
        start("ner", tmp_path / how, "freeze:3", on_start=watch(how), **{**STEPS, **options})
    items = 8 + 4  # training and dev data
    assert rows == {"cached": 3 * items, "through": 10 * 3 * items}


def looked(model, tuning, fuse_layer, tmp_path, **options):
    """What is chosen for a tiny model."""
    settings = resolve(make_settings(batch_size=2, epochs=2, **options), get_tuning("full"))
    rows = [Row([*range(5, 5 + n)], None, 0) for n in (7, 5, 6)]
    indices = (fuse_layer, model.config.num_hidden_layers)
    return from_block.choose(model, indices, rows, 2, 0, settings, tmp_path / "states")


def test_every_family(family, tiny_model, tmp_path):
    model = tiny_model(family)
    model.add_dlfa_head("ner", 1, "tagging", num_labels=3)
    if family == "albert":  # its blocks are one
        assert looked(model, "full", 1, tmp_path) is None
        return
    get_tuning("freeze:2").prepare(model, "ner")
    chosen = looked(model, "freeze:2", 1, tmp_path)
    assert (chosen.states, chosen.below.depth, chosen.below.layers) == ("cached", 2, (1, 2))


@pytest.mark.parametrize("config", [LoRAConfig(leave_out=[0, 1]), AdapterConfig.load("seq_bn", leave_out=[0, 1, 3])])
def test_adapters_in_upper_blocks_alone(config, tiny_model, tmp_path):
    model = tiny_model("xlm-roberta")
    model.add_adapter("ner", config=config)
    model.train_adapter("ner")
    chosen = looked(model, "lora", 3, tmp_path)
    assert (chosen.states, chosen.below.depth, chosen.below.layers) == ("cached", 2, (2,))


def test_a_block_that_hands_on_more_than_a_state(tiny_model, tmp_path):
    """DeBERTa's convolution joins what the first block is given and what it gives."""
    model = tiny_model("deberta-v2", conv_kernel_size=3, conv_act="tanh")
    model.add_dlfa_head("ner", 3, "tagging", num_labels=3)
    get_tuning("freeze:1").prepare(model, "ner")
    assert looked(model, "freeze:1", 3, tmp_path) is None  # it learns
    model.base_model.encoder.conv.requires_grad_(False)
    chosen = looked(model, "freeze:1", 3, tmp_path)
    assert chosen.states == "through"
    assert "those of deberta-v2 hand on more than states" in chosen.line
    with pytest.raises(ConfigError, match="--states cached does not work here, for those of deberta-v2"):
        looked(model, "freeze:1", 3, tmp_path, states="cached")


def test_when_it_runs_through(start, encoder, tmp_path, monkeypatch):
    options = {"model": encoder("bert"), "fuse_layer": 3, "batch_size": 4, "max_length": 64}
    run, plan = start("ner", tmp_path / "once", "freeze:2", epochs=1, **options)
    assert (run.config["training"]["states"], plan.states) == (
        "through", "Hidden states: blocks 1 to 2 run in every epoch, for there is one",
    )  # fmt: skip
    for tuning in ("full", "lora", "freeze:0", "peft-lora"):
        run, plan = start("ner", tmp_path / "other", tuning, max_steps=4, **options)
        assert (run.config["training"]["states"], plan.states) == (None, "")
    with pytest.raises(ConfigError, match=r"--states cached needs a first block that does not learn; type e.g. --tun"):
        start("ner", tmp_path / "other", "full", states="cached", **options)
    monkeypatch.setattr("dlfa_adapters.encoders.cache.free_disk", lambda folder: 0)
    run, plan = start("ner", tmp_path / "full", "freeze:2", epochs=2, **options)
    assert run.config["training"]["states"] == "through"
    assert "for there is no room for" in plan.states
    with pytest.raises(ConfigError, match="does not work here, for there is no room for"):
        start("ner", tmp_path / "full", "freeze:2", states="cached", **options)


def test_on_the_command_line(encoder, tmp_path):
    data = tmp_path / "train-en.tsv"
    data.write_text("Anna\tB-PER\nmet\tO\n\nRome\tB-LOC\n\n" * 4, "utf-8")
    command = [
        "train", "ner", "--train", str(data), "--dev", str(data), "-m", encoder("bert"), "-k", "3", "--epochs", "2",
        "--max-length", "64",
    ]  # fmt: skip
    for options, told in (
        (
            ["-t", "freeze:2"],
            r"Hidden states: \d+ tokens, 1 layers, \d+ kB, in .*run.training/states; blocks 1 to 2 run once",
        ),
        (["-t", "freeze:2", "--states", "through"], "Hidden states: blocks 1 to 2 run in every epoch"),
    ):
        done = CliRunner().invoke(app, [*command, *options, "-o", str(tmp_path / "run")])
        assert done.exit_code == 0, done.output
        assert re.search(told, " ".join(done.output.split())), done.output
    with pytest.raises(ConfigError, match="has no use for --states; leave it out"):
        CliRunner().invoke(app, [*command, "-t", "features", "--states", "through"], catch_exceptions=False)
    with pytest.raises(ConfigError, match="states must be one of cached, through; got 'kept'"):
        CliRunner().invoke(app, [*command, "--states", "kept"], catch_exceptions=False)


def test_several_processes_run_through(tiny_model, tmp_path, monkeypatch):
    model = tiny_model("bert")
    model.add_dlfa_head("ner", 3, "tagging", num_labels=3)
    get_tuning("freeze:2").prepare(model, "ner")
    monkeypatch.setenv("WORLD_SIZE", "2")
    chosen = looked(model, "freeze:2", 3, tmp_path)
    assert chosen.states == "through"
    assert chosen.line.endswith("for states are cached in one process alone")


@pytest.mark.parametrize("again", ["cached", "through"])
def test_resumed(again, start, encoder, tmp_path, monkeypatch):
    """From the states in the file; or, where they are no longer cached, through all blocks."""
    options = {**STEPS, "model": encoder("bert"), "fuse_layer": 3, "every": 2, "train_data": None, "dev_data": None}
    data = tmp_path / "train-en.tsv"
    data.write_text("Anna\tB-PER\nmet\tO\nBob\tB-PER\n\nRome\tB-LOC\n\nthe\tO\nBank\tB-ORG\n\n" * 3, "utf-8")
    options |= {"train_data": str(data), "dev_data": str(data)}
    whole, _ = start("ner", tmp_path / "whole", "freeze:2", **options)
    assert whole.config["training"]["states"] == "cached"
    kill_at_step(3, start, "ner", tmp_path / "run", "freeze:2", **options)
    [file] = (tmp_path / "run.training" / "states").iterdir()
    before = file.stat().st_mtime_ns
    if again == "through":
        monkeypatch.setattr("dlfa_adapters.encoders.cache.free_disk", lambda folder: -(2**40))
        assert_same(resume_training(tmp_path / "run"), whole)
        return
    seen = []
    run = resume_training(
        tmp_path / "run", progress=lambda *_: seen.append(file.stat().st_mtime_ns) if file.exists() else None
    )
    assert set(seen) == {before}
    assert_equal_weights(run, whole)
