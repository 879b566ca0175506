"""Trainer: C09 in full and LoRA mode, accumulation, and the best checkpoint with its running statistics."""

import weakref

import datasets
import numpy as np
import pytest
import torch
from peft import get_peft_model
from transformers import (
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from dlfa_adapters.models import lora_config

datasets.disable_progress_bars()
LENGTHS = (3, 7, 5, 1, 6)


def sentences(lengths=LENGTHS):
    generator = torch.Generator().manual_seed(0)
    items = []
    for length in lengths:
        ids, labels = (torch.randint(low, high, (length,), generator=generator) for low, high in ((5, 26), (0, 3)))
        items.append({"input_ids": ids.tolist(), "attention_mask": [1] * length, "labels": labels.tolist()})
    return datasets.Dataset.from_list(items)


@pytest.fixture(scope="session")
def collator():
    from tiny_tokenizer import character_tokenizer

    return DataCollatorForTokenClassification(character_tokenizer())


@pytest.fixture
def trainer(collator, tmp_path):
    def build(model, compute_metrics=None, train=LENGTHS, **options):
        arguments = TrainingArguments(
            str(tmp_path / "run"),
            **{
                "per_device_train_batch_size": 2, "per_device_eval_batch_size": 2, "report_to": "none",
                "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no",
                "optim": "sgd", "learning_rate": 0.1, "lr_scheduler_type": "constant", "weight_decay": 0.0,
                **options,
            },
        )  # fmt: skip
        return Trainer(model, arguments, collator, sentences(train), sentences(), compute_metrics=compute_metrics)

    return build


@pytest.fixture(params=["full", "lora"])
def model(request, tagger):
    plain = tagger()
    return plain if request.param == "full" else get_peft_model(plain, lora_config(plain))


def accuracy(prediction):
    scores, labels = prediction
    return {"accuracy": float((np.argmax(scores, -1) == labels)[labels != -100].mean())}


def test_predictions_are_one_array_and_no_states_are_held(model, trainer):
    states = []
    encoder = model.get_base_model().encoder if hasattr(model, "get_base_model") else model.encoder
    encoder.register_forward_hook(lambda *args: states.extend(map(weakref.ref, args[-1].hidden_states)))
    run = trainer(model, accuracy)
    metrics = run.evaluate()
    assert {"eval_loss", "eval_accuracy"} <= set(metrics)
    predictions = run.predict(sentences()).predictions
    assert isinstance(predictions, np.ndarray)
    assert predictions.shape == (5, 7, 3)
    for row, length in zip(predictions, LENGTHS, strict=True):
        assert np.isfinite(row[:length]).all()
    assert (predictions[3, 6] == -100).all()  # the batch of 5 and 1 pieces, padded to the longest of all
    assert len(states) == 2 * 3 * 5
    assert not [state for state in states if state() is not None]


def test_trainer_knows_the_labels_without_being_told(model, trainer):
    run = trainer(model)
    assert run.label_names == ["labels"]
    assert run.model_accepts_loss_kwargs


def test_the_best_checkpoint_comes_back_with_its_running_statistics(model, trainer, logits, tmp_path):
    scores, seen = iter([0.1, 0.9, 0.2]), []
    run = trainer(
        model,
        lambda prediction: {"score": next(scores)},
        max_steps=3,
        eval_strategy="steps",
        eval_steps=1,
        save_strategy="steps",
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model="score",
    )

    class Keep(TrainerCallback):
        def on_save(self, args, state, control, **kwargs):
            seen.append({name: value.clone() for name, value in model.state_dict().items()})

    run.add_callback(Keep())
    run.train()
    assert run.state.best_model_checkpoint.endswith("checkpoint-2")
    after = model.state_dict()
    batches = [name for name in after if name.endswith("norm1.num_batches_tracked") and "original" not in name]
    assert len(batches) == 2
    assert all(after[name] == 2 for name in batches)
    assert all(torch.equal(seen[1][name], value) for name, value in after.items())
    assert not all(torch.equal(seen[2][name], value) for name, value in after.items())


def moves(model, run):
    """How far one step of SGD moves the parameters that learn."""
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}
    run.train()
    return {name: p.detach() - before[name] for name, p in model.named_parameters() if name in before}


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_accumulation_gives_the_step_of_the_big_batch(tuning, tagger, trainer):
    """With sentences of unequal lengths; `layer`, as batch statistics are those of a micro-batch by definition."""

    def step(batch_size, accumulation):
        plain = tagger(norm="layer")
        tuned = get_peft_model(plain, lora_config(plain)) if tuning == "lora" else plain
        options = {"max_steps": 1, "learning_rate": 1.0, "max_grad_norm": 0.0}
        sizes = {"per_device_train_batch_size": batch_size, "gradient_accumulation_steps": accumulation}
        return moves(tuned, trainer(tuned, train=(2, 9, 3, 1, 7, 4, 1, 8), **options, **sizes))

    torch.manual_seed(0)
    whole = step(8, 1)
    assert max(move.abs().max() for move in whole.values()) > 1e-3
    for batch_size, accumulation in ((4, 2), (2, 4)):
        torch.manual_seed(0)
        parts = step(batch_size, accumulation)
        for name, move in whole.items():
            torch.testing.assert_close(parts[name], move, atol=1e-6, rtol=1e-4, msg=f"{batch_size} {name}")


def test_a_classifier_too(classifier, trainer, collator):
    run = trainer(classifier(), accuracy)
    texts = sentences().remove_columns("labels").add_column("label", [0, 1, 2, 0, 1])
    run.data_collator = DataCollatorWithPadding(collator.tokenizer)
    run.eval_dataset = texts
    metrics = run.evaluate()
    assert {"eval_loss", "eval_accuracy"} <= set(metrics)
    assert run.predict(texts).predictions.shape == (5, 3)
