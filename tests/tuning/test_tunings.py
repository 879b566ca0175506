"""Tunings by themselves: names and arguments, what learns, and what is refused."""

import pytest

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.tuning import default_tuning, frozen_modules, get_tuning, parameter_report


def prepared(tiny_model, tuning, family="bert", fusion="dlfa", **changes):
    model = tiny_model(family, **changes)
    model.add_dlfa_head("ner", fuse_layer=None if fusion in ("last", "scalar_mix") else 2, fusion=fusion)
    return get_tuning(tuning).prepare(model, "ner")


def learning(model):
    return {row.part for row in parameter_report(model) if row.trainable}


@pytest.mark.parametrize("tuning", ["full", "freeze:2", "lora", "peft-lora", "bottleneck"])
def test_every_family(tuning, family, tiny_model):
    if family == "albert" and tuning == "freeze:2":
        with pytest.raises(ConfigError, match="The 4 blocks of albert share 1 sets of weights"):
            prepared(tiny_model, tuning, family)
        return
    if family == "xmod" and tuning == "peft-lora":  # adapters renames its modules
        with pytest.raises(RunError, match="lacks weights of XmodModel"):
            prepared(tiny_model, tuning, family)
        return
    model = prepared(tiny_model, tuning, family)
    rows = {row.part: row for row in parameter_report(model)}
    assert sum(row.total for row in rows.values()) > 1000
    expected = {
        "full": {"embeddings", "block 1", "block 2", "block 3", "block 4"},
        "freeze:2": {"block 3", "block 4"},
        "lora": {"LoRA"},
        "peft-lora": {"LoRA"},
        "bottleneck": {"adapters"},
    }[tuning]
    parts = learning(model)
    assert {"fusion", "classifier"} <= parts
    assert expected - parts <= ({"block 1", "block 2", "block 3", "block 4"} if family == "albert" else set())
    assert not {part for part in parts if part.startswith(("block", "embeddings"))} - expected


@pytest.mark.parametrize("config", ["seq_bn", "double_seq_bn", "par_bn", "scaled_par_bn", "compacter"])
def test_bottlenecks(config, tiny_model):
    assert learning(prepared(tiny_model, f"bottleneck:{config}", hidden_size=128)) == {
        "adapters",
        "fusion",
        "classifier",
    }


@pytest.mark.parametrize("tuning", ["lora", "lora:3", "peft-lora", "peft-lora:3"])
def test_lora_has_its_rank_and_twice_the_rank_for_alpha(tuning, tiny_model):
    """What it adds to a weight is B A times alpha / r = 2, in the model that learns and in what the run says of it."""
    rank = get_tuning(tuning).rank
    assert rank == (3 if ":" in tuning else 8)
    modules = dict(prepared(tiny_model, tuning).named_modules()).values()
    if tuning.startswith("peft"):
        scales = [module.scaling["default"] for module in modules if hasattr(module, "lora_embedding_A")]
        ranks = {len(module.lora_A["default"].weight) for module in modules if hasattr(module, "lora_embedding_A")}
    else:
        added = [module for module in modules if type(module).__name__ == "LoRA"]
        scales, ranks = [module.scaling for module in added], {module.lora_A.shape[0] for module in added}
    assert scales
    assert set(scales) == {2.0}
    assert ranks == {rank}
    assert (get_tuning(tuning).record()["rank"], get_tuning(tuning).record()["alpha"]) == (rank, 2 * rank)


def test_freezing_counts_from_the_bottom(tiny_model):
    for n in range(5):
        model = prepared(tiny_model, f"freeze:{n}")
        assert {part for part in learning(model) if "block" in part} == {f"block {k}" for k in range(n + 1, 5)}
        assert "embeddings" not in learning(model)
        frozen = {id(module) for module in frozen_modules(model)}
        names = {name for name, module in model.named_modules() if id(module) in frozen} - {"bert.prompt_tuning"}
        blocks = {f"bert.encoder.layer.{k}" for k in range(n)}
        assert names == ({"bert.embeddings", "bert.pooler", *blocks} if n < 4 else {"bert"})
        assert get_tuning(f"freeze:{n}").frozen_blocks(4) == n
    with pytest.raises(ConfigError, match="freezes 5 blocks, but this encoder has 4; type freeze:2"):
        prepared(tiny_model, "freeze:5")


def test_what_no_loss_reaches_does_not_learn(tiny_model):
    """With one layer alone, the blocks above it get no gradient; nor does a pooler."""
    model = prepared(tiny_model, "full", fusion="layer")
    assert {part for part in learning(model) if "block" in part} == {"block 1", "block 2"}
    assert not any(p.requires_grad for p in model.base_model.pooler.parameters())


def test_every_trainable_parameter_gets_a_gradient(tiny_model, batch):
    import torch

    for tuning in ("full", "freeze:1", "lora", "bottleneck"):
        model = prepared(tiny_model, tuning).train()
        model(**batch, labels=torch.zeros(2, 7, dtype=torch.long)).loss.backward()
        without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
        assert without == []


@pytest.mark.parametrize(
    ("tuning", "message"),
    [
        ("lorra", "There is no tuning 'lorra'; there are full, .*did you mean 'lora'"),
        ("full:3", "takes nothing behind a colon, got 'full:3'"),
        ("features:bilstm", "takes nothing behind a colon"),
        ("freeze", "type e.g. --tuning freeze:6"),
        ("freeze:-1", "type e.g. --tuning freeze:6"),
        ("freeze:half", "got 'freeze:half'"),
        ("lora:0", "takes a rank from 1 up, got 'lora:0'"),
        ("peft-lora:x", "type peft-lora:8"),
        ("bottleneck:lora", "takes one of seq_bn, double_seq_bn"),
        ("stack", "type e.g. --tuning stack:adapters/en"),
        ("stack:", "type e.g. --tuning stack:adapters/en"),
    ],
)
def test_names_that_are_refused(tuning, message):
    with pytest.raises(ConfigError, match=message):
        get_tuning(tuning)


def test_the_default_depends_on_the_machine(monkeypatch):
    for gpu, name in ((True, "lora"), (False, "features")):
        monkeypatch.setattr("torch.cuda.is_available", lambda gpu=gpu: gpu)
        assert default_tuning() == name


@pytest.fixture
def language_adapter(tiny_model, tmp_path):
    model = tiny_model()
    model.add_adapter("en", config="seq_bn_inv")
    model.save_adapter(str(tmp_path / "en"), "en")
    return tmp_path / "en"


def test_stack(tiny_model, language_adapter):
    model = prepared(tiny_model, f"stack:{language_adapter}")
    assert str(model.active_adapters) == "Stack[en, ner]"
    assert model.active_head == "ner"
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert any(".adapters.ner." in name for name in trained)
    assert not any("adapters.en." in name or "invertible" in name for name in trained)


def test_a_language_adapter_of_another_encoder_is_refused(tiny_model, language_adapter):
    with pytest.raises(ConfigError, match="is for a bert encoder of width 16, this model is bert of width 32"):
        prepared(tiny_model, f"stack:{language_adapter}", hidden_size=32)
    with pytest.raises(ConfigError, match="is for a bert encoder of width 16, this model is distilbert of width 16"):
        prepared(tiny_model, f"stack:{language_adapter}", "distilbert")
    model = tiny_model()
    model.add_adapter("ner", config="seq_bn_inv")
    model.save_adapter(str(language_adapter.with_name("ner")), "ner")
    with pytest.raises(ConfigError, match="are both called 'ner'"):
        prepared(tiny_model, f"stack:{language_adapter.with_name('ner')}")
    with pytest.raises(ConfigError, match=r"The language adapter 'nowhere/xx' cannot be loaded"):
        prepared(tiny_model, "stack:nowhere/xx")
