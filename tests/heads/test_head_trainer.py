"""Trainer and AdapterTrainer, stock and ours, without `label_names`: training, evaluation, checkpoints."""

import inspect
import os

import adapters
import datasets
import numpy as np
import pytest
import torch
from adapters import Parallel, Stack
from transformers import Trainer, TrainerCallback, TrainingArguments

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads import AdapterTrainer
from dlfa_adapters.heads.schema import folder_name

datasets.disable_progress_bars()
LENGTHS = (3, 7, 5, 1, 6)
HEAD_TYPES = {
    "tagging": ["labels"],
    "classification": ["labels"],
    "multilabel_classification": ["labels"],
    "multiple_choice": ["labels"],
    "question_answering": ["start_positions", "end_positions"],
    "dependency_parsing": ["labels_arcs", "labels_rels"],
}


def sentences(head_type="tagging"):
    """Five sentences of 3, 7, 5, 1 and 6 pieces, with a column that no model knows."""
    generator = torch.Generator().manual_seed(0)
    items = []
    for i, length in enumerate(LENGTHS):
        shape = (2, length) if head_type == "multiple_choice" else (length,)
        item = {"input_ids": torch.randint(5, 95, shape, generator=generator).tolist(), "id": f"s{i}"}
        item["attention_mask"] = torch.ones(shape, dtype=torch.long).tolist()
        tags = torch.randint(0, 3, (length,), generator=generator).tolist()
        item |= {
            "tagging": {"labels": tags},
            "classification": {"labels": i % 3},
            "multilabel_classification": {"labels": [float(i % 2), 1.0, 0.0]},
            "multiple_choice": {"labels": i % 2},
            "question_answering": {"start_positions": 0, "end_positions": length - 1},
            "dependency_parsing": {
                "word_starts": [*range(1, length), 0],
                "labels_arcs": [max(0, k - 1) for k in range(length)],
                "labels_rels": tags,
            },
        }[head_type]
        items.append(item)
    return datasets.Dataset.from_list(items)


def collate(items):
    """Pad to the longest of the batch: labels of pieces with -100, everything else with 0.

    For parsing, to the longest of all: its outputs are (batch, seq, seq + 1), and Trainer joins batches of one `seq`.
    """
    batch = {}
    for key in items[0]:
        values = [torch.as_tensor(item[key]) for item in items]
        by_piece = values[0].dim() > 0 and not (key == "labels" and values[0].is_floating_point())
        width = max(value.shape[-1] for value in values) if by_piece else None
        width = max(LENGTHS) if "word_starts" in items[0] else width
        if width is not None:
            pad = -100 if key == "labels" else 0
            values = [torch.nn.functional.pad(v, (0, width - v.shape[-1]), value=pad) for v in values]
        batch[key] = torch.stack(values)
    return batch


def arguments(folder, **options):
    defaults = {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "logging_strategy": "no"}
    return TrainingArguments(
        str(folder), **{**defaults, "per_device_train_batch_size": 2, "per_device_eval_batch_size": 2, **options}
    )


def make(model, folder, trainer=Trainer, head_type="tagging", **options):
    extra = {key: options.pop(key) for key in ("compute_metrics", "callbacks") if key in options}
    data = sentences(head_type)
    return trainer(model, arguments(folder, **options), collate, train_dataset=data, eval_dataset=data, **extra)


def add(model, head_type="tagging", name="task", **options):
    size = {"multiple_choice": {"num_choices": 2}, "question_answering": {}}.get(head_type, {"num_labels": 3})
    model.add_dlfa_head(name, 1, head_type, **size, **options)
    return model


def with_adapter(model, name="task", train=True):
    model.add_adapter(name, config="seq_bn")
    if train:
        model.train_adapter(name)
    return model


@pytest.mark.parametrize("trainer", [Trainer, adapters.AdapterTrainer, AdapterTrainer])
@pytest.mark.parametrize("head_type", HEAD_TYPES)
def test_training_and_evaluation_of_every_head_type(head_type, trainer, tiny_model, tmp_path):
    model = add(tiny_model(), head_type)
    if trainer is not Trainer:
        with_adapter(model)
    before = {name: value.clone() for name, value in model.heads["task"].state_dict().items()}
    runner = make(model, tmp_path, trainer, head_type, max_steps=1, learning_rate=0.1)
    assert list(runner.label_names) == HEAD_TYPES[head_type]
    runner.train()
    assert any(not torch.equal(value, before[name]) for name, value in model.heads["task"].state_dict().items())
    output = runner.predict(runner.eval_dataset)
    assert np.isfinite(output.metrics["test_loss"])
    labels = output.label_ids if len(HEAD_TYPES[head_type]) > 1 else [output.label_ids]
    assert [len(ids) for ids in labels] == [5] * len(HEAD_TYPES[head_type])
    if head_type in ("question_answering", "dependency_parsing"):
        assert len(output.predictions) == 2  # start and end, relations and arcs
    else:
        assert isinstance(output.predictions, np.ndarray)
        assert len(output.predictions) == 5
    assert np.isfinite(runner.evaluate()["eval_loss"])


@pytest.mark.parametrize("trainer", [Trainer, adapters.AdapterTrainer])
def test_predictions_are_one_array_and_no_states_are_held(trainer, tiny_model, tmp_path):
    model = add(tiny_model())
    if trainer is not Trainer:
        with_adapter(model)

    def metrics(prediction):
        best = prediction.predictions.argmax(-1)  # raises where predictions are a tuple of unequal arrays
        real = prediction.label_ids != -100
        return {"accuracy": float((best == prediction.label_ids)[real].mean()), "words": int(real.sum())}

    runner = make(model, tmp_path, trainer, compute_metrics=metrics)
    output = runner.predict(runner.eval_dataset)
    assert output.predictions.shape == (5, 7, 3)
    assert output.metrics["test_words"] == sum(LENGTHS)
    for row, length in zip(output.predictions, LENGTHS, strict=True):
        assert not np.isclose(row[:length], -100).any()
    assert (output.predictions[3, 6:] == -100).all()
    assert np.isfinite(output.metrics["test_loss"])


def test_states_only_where_the_user_asks(tiny_model, tmp_path):
    model = add(tiny_model())
    model.config.output_hidden_states = True
    runner = make(model, tmp_path)
    output = runner.predict(runner.eval_dataset)
    assert len(output.predictions) == 2
    assert len(output.predictions[1]) == 5


def test_nested_outputs_of_several_heads_hold_no_states(tiny_model, tmp_path):
    model = tiny_model()
    for name in ("a", "b"):
        add(with_adapter(model, name, train=False), name=name)
    model.train_adapter(Parallel("a", "b"))
    runner = make(model, tmp_path, adapters.AdapterTrainer, max_steps=1)
    assert list(runner.label_names) == ["labels"]
    runner.train()
    output = runner.predict(runner.eval_dataset)
    assert [set(item) for item in output.predictions] == [{"loss", "logits"}] * 2
    assert [item["logits"].shape for item in output.predictions] == [(5, 7, 3)] * 2


def test_label_names_of_heads_together(tiny_model, tmp_path):
    model = add(add(tiny_model(), "tagging", "tags"), "question_answering", "qa")
    model.active_head = ["tags", "qa"]
    assert list(make(model, tmp_path).label_names) == ["labels", "start_positions", "end_positions"]
    model.active_head = "tags"
    assert list(make(model, tmp_path).label_names) == ["labels"]


def test_label_names_can_still_be_set(tiny_model, tmp_path):
    runner = make(add(tiny_model()), tmp_path, label_names=["gold"])
    assert runner.label_names == ["gold"]


class Record(TrainerCallback):
    """Keeps what the model was like at each evaluation; with it the first evaluation is the best."""

    def __init__(self):
        self.states = []

    def on_evaluate(self, args, state, control, model, **kwargs):
        self.states.append({name: value.clone() for name, value in model.state_dict().items()})

    def metrics(self, prediction):
        return {"score": -float(len(self.states))}


def train_past_the_best(model, folder, trainer, names):
    record = Record()
    runner = make(
        model,
        folder,
        trainer,
        compute_metrics=record.metrics,
        callbacks=[record],
        max_steps=3,
        learning_rate=0.1,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        greater_is_better=True,
    )
    runner.train()
    best, last = record.states[0], record.states[-1]
    now = model.state_dict()
    kept = [key for key in now if any(part in key for part in names)]
    assert any("running_mean" in key for key in kept)
    assert all(not torch.equal(best[key], last[key]) for key in kept if "running_mean" in key)
    for key in kept:
        assert torch.equal(now[key], best[key]), key
    return runner


def test_the_best_checkpoint_of_trainer(tiny_model, tmp_path):
    train_past_the_best(add(tiny_model()), tmp_path, Trainer, ["heads", "encoder"])


@pytest.mark.parametrize("trainer", [adapters.AdapterTrainer, AdapterTrainer])
@pytest.mark.parametrize("name", ["task", "en/wiki@ukp"])
def test_the_best_checkpoint_of_adapter_trainer(name, trainer, tiny_model, tmp_path):
    """Stock AdapterTrainer too, where head and adapter share a name."""
    model = with_adapter(add(tiny_model(), name=name), name)
    runner = train_past_the_best(model, tmp_path, trainer, ["heads", "adapters"])
    assert model.active_head == name
    assert model.config.id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    files = {file for _, _, names in os.walk(runner.state.best_model_checkpoint) for file in names}
    assert {"adapter.safetensors", "model_head.safetensors"} <= files
    assert not {file for file in files if file.endswith(".bin")} - {"training_args.bin"}


def test_the_best_checkpoint_of_a_head_with_another_name(tiny_model, tmp_path):
    """Stock AdapterTrainer too, because the active head is saved with the adapter that it stands on."""
    model = add(with_adapter(tiny_model(), "lang"), name="tags")
    model.train_adapter("lang")
    train_past_the_best(model, tmp_path, adapters.AdapterTrainer, ["heads", "adapters"])


def test_the_best_checkpoint_of_several_heads_with_other_names(tiny_model, tmp_path):
    model = add(add(with_adapter(tiny_model(), "lang"), name="tags"), name="tags_de")
    model.train_adapter("lang")
    model.active_head = ["tags", "tags_de"]
    train_past_the_best(model, tmp_path, AdapterTrainer, ["heads", "adapters"])
    assert model.active_head == ["tags", "tags_de"]


@pytest.mark.parametrize("name", ["task", "en/wiki@ukp"])
def test_resuming(name, tiny_model, tmp_path):
    """Two steps, then a third from the checkpoint in a fresh model, is three steps; the active head stays active."""
    options = {"learning_rate": 0.1, "save_strategy": "steps", "save_steps": 2, "lr_scheduler_type": "constant"}

    def build():
        model = tiny_model()
        for head in (name, "zzz"):
            add(with_adapter(model, head, train=False), name=head)
        model.train_adapter(name)
        return model

    through = build()
    make(through, tmp_path / "through", AdapterTrainer, max_steps=3, **options).train()
    make(build(), tmp_path / "cut", AdapterTrainer, max_steps=2, **options).train()
    again = build()
    make(again, tmp_path / "cut", AdapterTrainer, max_steps=3, **options).train(resume_from_checkpoint=True)
    assert again.active_head == name
    for key, value in through.state_dict().items():
        torch.testing.assert_close(again.state_dict()[key], value, msg=key)


def test_stacks_with_names_with_slashes_survive_checkpoints(tiny_model, tmp_path):
    model = with_adapter(tiny_model(), "en/wiki", train=False)
    add(with_adapter(model, "task", train=False))
    model.train_adapter(Stack("en/wiki", "task"))
    make(model, tmp_path, adapters.AdapterTrainer, max_steps=1, save_strategy="steps", save_steps=1).train()
    folder = tmp_path / "checkpoint-1"
    assert (folder / folder_name("en/wiki") / "pytorch_adapter.bin").is_file()
    assert (folder / "task" / "adapter.safetensors").is_file()
    fresh = tiny_model()
    fresh.load_adapter(str(folder / folder_name("en/wiki")))
    fresh.load_adapter(str(folder / "task"))
    assert set(fresh.adapters_config.adapters) == {"en/wiki", "task"}
    assert list(fresh.heads) == ["task"]


def test_multi_task_learns_with_a_column_of_tasks(tiny_model, tmp_path):
    """Trainer drops columns that are not in the signature; without the tasks upstream has a bare assertion."""
    from adapters import MTLLoRAConfig
    from adapters.composition import MultiTask

    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config=MTLLoRAConfig(r=2, n_up_projection=2, init_weights="bert"))
    model.share_parameters(MultiTask("a", "b"))
    model.add_dlfa_head("head", 1, "tagging", num_labels=3)
    model.train_adapter(MultiTask("a", "b"))
    rows = [{"input_ids": list(range(5, 12)), "labels": [0, 1, 2, 0, 1, 2, 0], "task_ids": i % 2} for i in range(4)]
    options = TrainingArguments(
        str(tmp_path), max_steps=2, per_device_train_batch_size=4, report_to="none", use_cpu=True, learning_rate=0.01
    )
    before = {name: p.clone() for name, p in model.named_parameters() if p.requires_grad}
    AdapterTrainer(model, options, train_dataset=rows).train()
    moved = {name for name, p in model.named_parameters() if name in before and not torch.equal(p, before[name])}
    assert {name.split(".")[0] for name in moved} == {"bert", "heads"}
    with pytest.raises(ConfigError, match=r"MultiTask\[a, b\].* needs task_ids.*type model\(\.\.\., task_ids="):
        model(input_ids=torch.arange(5, 12)[None])
    model.set_active_adapters("a")
    assert "task_ids" not in inspect.signature(model.forward).parameters


@pytest.mark.parametrize(("kind", "expected"), [("dlfa", 1 / 2), ("tagging", 1)])
def test_the_loss_of_a_batch_split_is_the_mean_over_the_batch(kind, expected, tiny_model, tmp_path):
    """Called directly it is the sum of the heads' means, under Trainer the sum of their shares of the mean over all."""
    from adapters import BatchSplit

    model = tiny_model(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    for name in "ab":
        model.add_adapter(name, config="lora")
        if kind == "dlfa":
            model.add_dlfa_head(name, 1, "tagging", num_labels=3, norm="layer", dropout_prob=0.0)
        else:
            model.add_tagging_head(name, num_labels=3)
            model.heads[name][0].p = 0.0
    model.train_adapter(BatchSplit("a", "b", batch_sizes=[2, 2]))
    model.active_head = BatchSplit("a", "b", batch_sizes=[2, 2])
    rows = [{"input_ids": list(range(5, 12)), "labels": [0, 1, 2, 0, 1, 2, 0]}] * 4  # in whatever order
    batch = {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}
    direct = model.train()(**batch)
    assert direct.loss.item() == pytest.approx(sum(output.loss.item() for output in direct.head_outputs))
    options = TrainingArguments(
        str(tmp_path), max_steps=1, per_device_train_batch_size=4, report_to="none", use_cpu=True,
        label_names=["labels"], learning_rate=1e-6, remove_unused_columns=False,
    )  # fmt: skip
    result = AdapterTrainer(model, options, train_dataset=rows).train()
    assert result.training_loss == pytest.approx(direct.loss.item() * expected, rel=1e-4)
