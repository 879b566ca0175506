"""The options of a training as Trainer wants them."""

import os
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.ground.running import world_size
from dlfa_adapters.learning.settings import Settings, accumulation_steps


def training_arguments(
    settings: Settings, folder: Path, *, has_dev: bool, find_unused: bool, compile_model: bool = False
) -> Any:
    """The `TrainingArguments` of resolved settings.

    Args:
        settings: From `resolve`.
        folder: Where checkpoints go.
        has_dev: Whether there are dev data, on which the best checkpoint is chosen.
        find_unused: Whether some parameters get no gradient.
        compile_model: Whether Trainer compiles the whole model.
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
        label_names=["labels"],
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
