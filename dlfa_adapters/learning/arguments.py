"""How long a training is and how often it is judged, and its options as Trainer wants them."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.ground.environment import world_size
from dlfa_adapters.learning.ranges import accumulation_steps
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tuning import Tuning


def training_arguments(
    settings: Settings,
    folder: Path,
    *,
    has_dev: bool,
    find_unused: bool,
    compile_model: bool = False,
    label_names: Sequence[str] = ("labels",),
) -> Any:
    """The `TrainingArguments` of resolved settings, with checkpoints in a folder.

    With `find_unused` some parameters get no gradient; `label_names` are the inputs of the model that are labels.
    """
    from transformers import TrainingArguments

    gpu = torch.cuda.is_available()
    # TrainingArguments writes these, and never takes them back: a second training here would inherit them.
    os.environ["ACCELERATE_MIXED_PRECISION"] = {"fp32": "no"}.get(
        str(settings.machine.precision), str(settings.machine.precision)
    )
    os.environ.pop("ACCELERATE_DYNAMO_BACKEND", None)
    strategy = "epoch" if settings.steps.every is None else "steps"
    best = {"load_best_model_at_end": True, "metric_for_best_model": "rank", "greater_is_better": True}
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=settings.machine.micro_batch_size,
        per_device_eval_batch_size=max(32, settings.machine.micro_batch_size or 0),
        gradient_accumulation_steps=accumulation_steps(settings),
        learning_rate=settings.steps.learning_rate,
        weight_decay=settings.steps.weight_decay,
        max_grad_norm=settings.steps.max_grad_norm,
        num_train_epochs=settings.steps.epochs,
        max_steps=settings.steps.max_steps,
        lr_scheduler_type="linear",
        warmup_ratio=settings.steps.warmup,
        eval_strategy=strategy if has_dev else "no",
        save_strategy=strategy,
        eval_steps=settings.steps.every,
        save_steps=settings.steps.every or 500,
        **(best if has_dev else {}),
        bf16=settings.machine.precision == "bf16",
        fp16=settings.machine.precision == "fp16",
        gradient_checkpointing=settings.machine.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if settings.machine.gradient_checkpointing else None,
        torch_compile=compile_model,
        ddp_find_unused_parameters=find_unused,
        ddp_backend="gloo" if not gpu and world_size() > 1 else None,
        use_cpu=not gpu,
        dataloader_pin_memory=gpu,
        remove_unused_columns=False,
        label_names=list(label_names),
        include_for_metrics=["loss"],
        logging_strategy="steps",
        logging_steps=50,
        logging_nan_inf_filter=False,
        report_to=settings.machine.report_to,
        disable_tqdm=True,
        seed=settings.steps.seed,
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # else Trainer takes DataParallel, which adapters do not survive; torchrun takes them all
    return arguments


def parameter_groups(
    model: Any, decayed: Collection[str], *, weight_decay: float, learning_rate: float, head_learning_rate: float
) -> list[dict[str, Any]]:
    """Trainable parameters for an optimiser; `decayed` are the names of those that decay: all but biases and norms.

    `head_learning_rate` is for fusion and classifier, see `is_of_head`; `learning_rate` for all else.

    Returns:
        Up to four groups, each with a `name`; empty ones are left out.
    """
    groups: dict[str, dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        head, decays = is_of_head(name), name in decayed
        group = groups.setdefault(
            f"{'head' if head else 'encoder'}, {'decayed' if decays else 'not decayed'}",
            {
                "params": [],
                "lr": head_learning_rate if head else learning_rate,
                "weight_decay": weight_decay if decays else 0.0,
            },
        )
        group["params"].append(parameter)
    return [{"name": name, **group} for name, group in groups.items()]


def is_of_head(name: str) -> bool:
    """Whether a parameter of this name is fusion's or classifier's, in a model of adapters or a plain one."""
    return name.startswith("heads.") or ".heads." in name or ".fusion." in name or ".classifier." in name


MOST_EVALUATIONS = 25
"""Of a training with many short epochs: dev is read after every few of them."""

_HALVINGS = 8
"""Evaluations that the schedule of an LSTM on frozen states takes at the least, see `plateau`."""


def least_steps(settings: Settings, rows: int, *, plateau: bool) -> Settings:
    """Resolved settings with as many epochs as `min_steps` take; they stay as they are where that is fewer.

    With `plateau` the rate is halved where dev stands still; `epochs` are then a limit, which moves along.
    """
    if settings.steps.max_steps > 0 or not settings.steps.min_steps or not rows:
        return settings
    one, epochs = steps_of_epoch(settings, rows), settings.steps.epochs or 1
    if plateau:
        return settings.changed(epochs=epochs * epochs_between(settings, rows, plateau=True))
    return settings.changed(epochs=max(epochs, -(-settings.steps.min_steps // one)))


def shorter_epochs(before: Settings, after: Settings, tuning: Tuning, *, with_dev: bool) -> int:
    """Epochs of the shorter training that a head on frozen states has too, where small data have got more; 0: none.

    A tuning that does not learn on states is not trained twice, nor is it where another least number of steps than its
    own is asked for. `before` and `after` are the settings that `least_steps` took and gave; dev data must choose.
    """
    linear = tuning.on_states and before.head.classifier != "bilstm"
    usual = before.steps.min_steps == tuning.defaults_for(before.head.classifier).min_steps
    extended = before.steps.epochs != after.steps.epochs
    return before.steps.epochs or 0 if with_dev and linear and usual and extended else 0


def epochs_between(settings: Settings, rows: int, *, plateau: bool) -> int:
    """After how many epochs dev is read, each time: 1, unless there are more than `MOST_EVALUATIONS` short ones.

    Where the rate is halved when dev stands still (`plateau`), it is as many as let the schedule not end before
    `min_steps`.
    """
    if not settings.steps.min_steps or settings.steps.max_steps > 0:
        return 1
    if plateau:
        return -(-settings.steps.min_steps // (_HALVINGS * steps_of_epoch(settings, rows)))
    return -(-(settings.steps.epochs or 1) // MOST_EVALUATIONS)


def with_evaluations(settings: Settings, rows: int) -> Settings:
    """Settings with the steps from one look at dev to the next, where that is not each epoch; one look there is."""
    every = settings.steps.every
    if every is None and (between := epochs_between(settings, rows, plateau=False)) > 1:
        every = between * steps_of_epoch(settings, rows)
    return settings if every is None else settings.changed(every=min(every, settings.steps.total(rows)))


def steps_of_epoch(settings: Settings, rows: int) -> int:
    """Steps of an epoch of so many rows."""
    return -(-rows // settings.steps.batch_size)


def told(before: Settings, after: Settings, rows: int, items: str, *, plateau: bool, shorter: int = 0) -> list[str]:
    """The note where small data have got more epochs: one sentence, or none.

    `before` and `after` are the settings that `least_steps` took and gave, `items` is how many of which kind, in words;
    for `shorter` see `shorter_epochs`.
    """
    if after.steps.epochs == before.steps.epochs:
        return []
    if plateau:
        every = epochs_between(after, rows, plateau=True)
        return [
            f"{items}, batch {after.steps.batch_size}: dev is read every {every} epochs, so that the rate is not "
            f"halved to its end before {after.steps.min_steps} steps; --min-steps 0 reads it after each."
        ]
    epochs = f"{after.steps.epochs} epochs for {after.steps.total(rows)} steps"
    which = f"{shorter} epochs, and {epochs}; dev chooses" if shorter else f"{epochs} instead of {before.steps.epochs}"
    return [f"{items}, batch {after.steps.batch_size}: {which}; --epochs N or --min-steps N says otherwise."]


def few_steps(settings: Settings, rows: int) -> str | None:
    """The note on a sweep that has fewer steps than a training would have; None where it has enough."""
    longer = least_steps(settings, rows, plateau=False)
    if longer.steps.epochs == settings.steps.epochs:
        return None
    return (
        f"{settings.steps.total(rows)} steps may be too few to tell heads apart: dlfa train would take "
        f"{longer.steps.total(rows)}; type --epochs {longer.steps.epochs}."
    )
