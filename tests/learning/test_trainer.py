"""What our Trainer adds: rates, frozen parts, finite numbers, order of batches; and what it must not lose."""

import os

import numpy as np
import pytest
import torch

import dlfa_adapters.learning.steps as steps_module
import dlfa_adapters.learning.trainer as trainer_module
from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.learning import train
from dlfa_adapters.learning.safeguards import NotFiniteError
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.tuning import get_tuning


@pytest.fixture
def trainers(monkeypatch):
    """The trainers that a training makes, kept."""
    made = []
    for name in ("FullTrainer", "ModularTrainer"):
        cls = getattr(trainer_module, name)

        def build(*args, cls=cls, **kwargs):
            made.append(cls(*args, **kwargs))
            return made[-1]

        monkeypatch.setattr(steps_module, name, build)
    return made


MODES = ("full", "lora", "peft-lora", "bottleneck")


@pytest.mark.parametrize("tuning", MODES)
def test_evaluation_holds_no_states(tuning, start, trainers, tmp_path):
    """Sentences of unequal lengths in batches of two: one array, padded with -100, loss and score in every mode."""
    start("ner", tmp_path / "run", tuning, fuse_layer=2, max_steps=1)
    [trainer] = trainers
    trainer.args.per_device_eval_batch_size = 2
    output = trainer.predict(trainer.eval_dataset)
    assert isinstance(output.predictions, np.ndarray)
    longest = max(len(row.input_ids) for row in trainer.eval_dataset)
    assert output.predictions.shape == (4, longest, 7)
    for row, logits in zip(trainer.eval_dataset, output.predictions, strict=True):
        assert not np.isclose(logits[: len(row.input_ids)], -100).any()
    assert np.isfinite(output.metrics["test_loss"])
    assert 0 <= output.metrics["test_score"] <= 100
    entry = next(entry for entry in trainer.state.log_history if "eval_loss" in entry)
    assert np.isfinite(entry["eval_loss"])
    assert "eval_score" in entry


@pytest.mark.parametrize("tuning", [*MODES, "freeze:2"])
def test_rates_of_head_and_encoder(tuning, start, trainers, tmp_path):
    start(
        "ner",
        tmp_path / "run",
        tuning,
        fuse_layer=2,
        max_steps=1,
        dev_data="none",
        learning_rate=1e-4,
        head_learning_rate=1e-3,
    )
    [trainer] = trainers
    groups = {group["name"]: group for group in trainer.optimizer.param_groups}
    assert {name for name in groups if name.startswith("head")} == {"head, decayed", "head, not decayed"}
    for name, group in groups.items():
        assert group["initial_lr"] == (1e-3 if name.startswith("head") else 1e-4)
        assert group["weight_decay"] == (0.0 if "not" in name else 0.01)
    grouped = {id(p) for group in groups.values() for p in group["params"]}
    assert grouped == {id(p) for p in trainer.model.parameters() if p.requires_grad}
    names = {id(p): n for n, p in trainer.model.named_parameters()}
    in_head = {names[id(p)] for n, g in groups.items() if n.startswith("head") for p in g["params"]}
    assert in_head == {n for n in names.values() if ("heads." in n or "modules_to_save" in n)}


def test_the_defaults_are_those_of_the_paper_and_of_the_table():
    paper = resolve(make_settings(), get_tuning("full"))
    steps = paper.steps
    assert (steps.learning_rate, steps.head_learning_rate, steps.batch_size, steps.epochs) == (2e-5, 2e-5, 32, 5)
    assert paper.as_dict()["gate"] == "product"
    lora = resolve(make_settings(), get_tuning("lora"))
    assert (lora.steps.learning_rate, lora.steps.head_learning_rate, lora.steps.min_steps) == (1e-3, 3e-3, 1000)
    given = resolve(make_settings(learning_rate=3e-5), get_tuning("full"))
    assert given.steps.head_learning_rate == 3e-5  # one rate for all, unless a second one is given
    assert resolve(make_settings(learning_rate=3e-5), get_tuning("lora")).steps.head_learning_rate == 3e-3
    assert resolve(make_settings(head_learning_rate=1e-3), get_tuning("full")).steps.head_learning_rate == 1e-3


def test_frozen_parts_stay_in_eval_mode(start, monkeypatch, tmp_path):
    modes = {}
    original = trainer_module.check_loss

    def look(model, inputs, loss, step):
        modes.update({name: module.training for name, module in model.named_modules()})
        original(model, inputs, loss, step)

    monkeypatch.setattr(trainer_module, "check_loss", look)
    start("ner", tmp_path / "run", "freeze:2", fuse_layer=1, max_steps=1)
    layers = [f"bert.encoder.layer.{i}" for i in range(3)]
    assert [modes[name] for name in layers] == [False, False, True]
    assert not modes["bert.embeddings"]
    assert not modes["bert.embeddings.dropout"]
    assert modes["bert.encoder.layer.2.output.dropout"]
    assert modes["heads.ner.fusion.aif.0.branches.0.norm1"]


def test_a_fuse_layer_in_the_frozen_part_is_said(start, tmp_path):
    for layer, said in ((1, True), (2, True), (3, False)):
        _, plan = start("ner", tmp_path / "run", "freeze:2", fuse_layer=layer, max_steps=1)
        assert any("lies in the frozen part (layers 0 to 2)" in note for note in plan.notes) == said
    _, plan = start("ner", tmp_path / "run", "features", fuse_layer=1)
    assert not any("frozen part" in note for note in plan.notes)


@pytest.mark.parametrize("tuning", ["lora", "peft-lora", "bottleneck", "freeze:2"])
def test_gradient_checkpointing(tuning, start, monkeypatch, tmp_path, tiny_folder):
    """The same gradients with a frozen embedding, and batch norm counts each step once."""
    gradients = []

    def keep(model, step, learning):
        gradients[-1].update({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})

    monkeypatch.setattr(trainer_module, "check_gradients", keep)
    for checkpointing in (False, True):
        gradients.append({})
        _, plan = start(
            "ner", tmp_path / str(checkpointing), tuning, fuse_layer=2, max_steps=5, dev_data="none",
            gradient_checkpointing=checkpointing,
        )  # fmt: skip
        counted = [v for n, v in plan.model.state_dict().items() if "tracked" in n and "original_module" not in n]
        assert [int(value) for value in counted] == [5] * 4
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, atol=1e-5, rtol=1e-4, msg=name)
    own = {"lora": "lora_B", "peft-lora": "lora_B", "bottleneck": "adapter_up.weight", "freeze:2": "layer.2.output"}
    learning = [float(g.abs().max()) > 0 for n, g in gradients[1].items() if own[tuning] in n]
    assert len(learning) >= 3
    assert any(learning) if tuning == "bottleneck" else all(learning)  # one unit wide here, which can be off


@pytest.mark.parametrize("task", ["ner", "xnli"])
@pytest.mark.parametrize("tuning", ["full", "peft-lora"])
def test_accumulation_is_the_big_batch(task, tuning, start, monkeypatch, tmp_path, tiny_folder):
    """With unequal lengths, and layer norm in the fusion: batch statistics would be those of a micro-batch."""
    gradients = {}

    def keep(model, step, learning):
        gradients[micro] = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    monkeypatch.setattr(trainer_module, "check_gradients", keep)
    monkeypatch.setattr("torch.nn.functional.dropout", lambda x, *args, **kwargs: x)
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, x: x)
    for micro in (8, 4, 1):
        start(
            task, tmp_path / "run", tuning, fuse_layer=2, norm="layer", batch_size=8, micro_batch_size=micro,
            max_steps=1, dev_data="none", model=str(no_attention_dropout(tiny_folder, tmp_path)),
        )  # fmt: skip
    for micro in (4, 1):
        for name, gradient in gradients[8].items():
            torch.testing.assert_close(gradients[micro][name], gradient, atol=1e-6, rtol=1e-4, msg=f"{micro} {name}")


def no_attention_dropout(folder, tmp_path):
    """Fused attention kernels have a dropout of their own."""
    import json
    import shutil

    copy = tmp_path / "encoder"
    if not copy.exists():
        shutil.copytree(folder, copy)
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps({**config, "attention_probs_dropout_prob": 0.0}))
    return copy


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_bf16_learns_and_reloads(tuning, start, tmp_path):
    run, plan = start("ner", tmp_path / "run", tuning, fuse_layer=2, precision="bf16")
    weights = plan.model.state_dict()
    assert all(tensor.dtype in (torch.float32, torch.long) for tensor in weights.values())
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())
    assert run.config["training"]["precision"] == "bf16"


def test_a_training_that_ends_before_its_first_evaluation_is_evaluated_at_the_end(start, tmp_path):
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, max_steps=3, every=500)
    assert run.config["training"]["best"] == "step 3"
    assert run.config["metrics"]["dev"] == {"en": run.config["training"]["dev_scores"][0]}


def test_a_loss_that_is_not_finite_names_step_and_layer(start, tmp_path, monkeypatch):
    from transformers.models.bert.modeling_bert import BertIntermediate

    calls, forward = [], BertIntermediate.forward

    def overflow(self, states):
        calls.append(self)
        out = forward(self, states)
        return out + float("nan") if len(calls) >= 8 and self is calls[1] else out  # block 2, from the third step on

    monkeypatch.setattr(BertIntermediate, "forward", overflow)
    with pytest.raises(
        NotFiniteError, match=r"nan at step 3; the first output .* bert\.encoder\.layer\.1\.intermediate\. Type"
    ):
        start("ner", tmp_path / "run", "full", fuse_layer=2, batch_size=2, dev_data="none")


@pytest.mark.parametrize("factor", ["inf", "nan"])
def test_a_gradient_that_is_not_finite_names_step_and_parameter(factor, start, tmp_path):
    def spoil(plan):
        parameter = plan.model.heads["ner"].inner[-1].weight
        parameter.register_hook(lambda grad: grad * float(factor))

    with pytest.raises(NotFiniteError, match=r"gradient of heads\.ner\.inner\.1\.weight is not finite at step 1"):
        start("ner", tmp_path / "run", "full", fuse_layer=2, max_steps=1, dev_data="none", on_start=spoil)


def test_weights_that_are_not_finite_are_named(start, tmp_path):
    def spoil(plan):
        plan.model.base_model.encoder.layer[1].output.dense.weight.data[0, 0] = float("nan")

    with pytest.raises(NotFiniteError, match=r"step 1; the weights bert\.encoder\.layer\.1\.output\.dense\.weight"):
        train_with(start, tmp_path, spoil)


@pytest.mark.parametrize("tuning", ["full", "features"])
def test_a_last_step_that_spoils_the_weights_leaves_no_run(tuning, start, tmp_path):
    with pytest.raises(NotFiniteError, match=r"weights heads\.ner\.[\w.]+ .* after the last step\. Type a smaller"):
        start("ner", tmp_path / "run", tuning, head_learning_rate=1e39, dev_data="none")
    assert not (tmp_path / "run").exists()


def train_with(start, tmp_path, on_start):
    start("ner", tmp_path / "run", "full", fuse_layer=2, max_steps=1, dev_data="none", on_start=on_start)


@pytest.mark.parametrize(("length", "steps", "epochs"), [({"epochs": 3}, 6, 3), ({"max_steps": 3}, 3, 2)])
def test_steps_and_epochs_are_told_when_they_are_done(length, steps, epochs, start, tmp_path):
    done = []
    start(
        "ner", tmp_path / "run", "full", fuse_layer=2, **length,
        on_step=lambda number: done.append(("step", number)), on_epoch=lambda number: done.append(("epoch", number)),
    )  # fmt: skip
    assert [number for kind, number in done if kind == "step"] == list(range(1, steps + 1))
    assert [number for kind, number in done if kind == "epoch"] == list(range(1, epochs + 1))
    assert done[2] == ("epoch", 1)  # after two steps of four of the eight rows
    assert done[-1] == ("epoch", epochs)


def test_features_have_no_steps_to_tell_of(start, tmp_path):
    with pytest.raises(ConfigError, match="--tuning features has no on_step and on_epoch"):
        start("ner", tmp_path / "run", "features", on_epoch=print)


def test_order_of_batches():
    lengths = [(7 * i) % 13 + 1 for i in range(50)]
    sampler = SameLengthSampler(lengths, 8, seed=1)
    first, again = list(sampler), list(sampler)
    assert first == again
    assert sorted(first) == list(range(50))
    sampler.set_epoch(1)
    assert list(sampler) != first
    spread = [np.ptp([lengths[i] for i in first[k : k + 8]]) for k in range(0, 48, 8)]
    assert np.mean(spread) <= 3  # of 13 lengths
    assert list(SameLengthSampler(lengths, 8, seed=2)) != first


def test_labels_that_the_task_does_not_have(start, items, tmp_path, tiny_folder):
    odd = [(["Anna", "x"], ["B-PER", "B-MISC"]), *items["ner"]]
    options = {"train_data": odd, "dev_data": "none", "max_steps": 1, "fuse_layer": 2}
    with pytest.raises(ConfigError, match=r"labels that the task ner does not have: B-MISC \(1\); type --labels data"):
        start("ner", tmp_path / "run", **options)
    run, _ = start("ner", tmp_path / "run", **options, labels="data")
    assert run.config["labels"] == ["O", "B-LOC", "I-LOC", "B-MISC", "B-ORG", "I-ORG", "B-PER", "I-MISC", "I-PER"]
    run, _ = start("ner", tmp_path / "run", **options, labels="task")
    assert len(run.config["labels"]) == 7
    assert run.config["data"]["train"]["unknown_labels"] == {"B-MISC": 1}
    with pytest.raises(DataError, match="expected data for xnli, a classification task, but this is tagging data"):
        start("xnli", tmp_path / "run", train_data=items["ner"], dev_data="none")


def test_options_that_do_not_exist_or_cannot_work(start, tmp_path, tiny_folder):
    for options, message in (
        ({"fuse_layr": 2}, "did you mean 'fuse_layer'"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 up"),
        ({"precision": "fp8"}, "precision must be one of fp32, bf16, fp16"),
        ({"fuse_layer": 9}, r"fuse_layer must lie in 0..3"),
        ({"tuning": "lorra"}, "did you mean 'lora'"),
        ({"pooling": "middle"}, "pooling must be one of first, last, mean"),
        ({"tuning": "features", "pooling": "mean"}, "reads words at their first piece"),
    ):
        with pytest.raises(ConfigError, match=message):
            start("ner", tmp_path / "run", **options)
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="fp16 needs a GPU"):
            resolve(make_settings(precision="fp16"), get_tuning("full"))
    with pytest.raises(ConfigError, match="There are no samples of 'mood'"):
        train("mood", model=str(tiny_folder), out=tmp_path / "run", tuning="full")
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.iterdir()) or os.listdir(tmp_path) == ["run.training"]


def test_without_dev_data_the_last_step_is_kept(start, tmp_path):
    for tuning in ("full", "features"):
        run, plan = start("ner", tmp_path / tuning, tuning, fuse_layer=2, epochs=3, dev_data="none")
        assert "no dev data" in plan.notes[0]
        assert run.config["training"]["picked_on"] == "nothing: the last step"
        assert run.config["training"]["best"] == {"full": "step 6", "features": "epoch 3"}[tuning]
        assert run.config["metrics"]["dev"] is None
        assert "dev" not in run.config["data"]


def test_the_best_step_on_dev_is_kept_not_the_last(start, tmp_path, logits):
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, epochs=6, every=1, learning_rate=3e-2)
    scores = run.config["training"]["dev_scores"]
    assert len(scores) == 12
    assert scores[int(run.config["training"]["best"].removeprefix("step ")) - 1] == max(scores)
    assert run.config["metrics"]["dev"]["en"] == max(scores)
