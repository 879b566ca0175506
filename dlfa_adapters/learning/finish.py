"""The run folder of a training that is done."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.ground.running import device_name, world_size
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.runs import Run, write_run
from dlfa_adapters.scores.metrics import metrics_for
from dlfa_adapters.tasks import Task
from dlfa_adapters.tuning import Tuning, trainable_share
from dlfa_adapters.tuning.saving import save_trained

HEAD_OPTIONS = ("fusion", "fuse_layer", "gate", "reduction", "branches", "norm", "init", "classifier")
"""What `run.json` says of a head; all its options are in `head/head_config.json`."""


@dataclass
class Outcome:
    """What came out of a training.

    Attributes:
        best: Which epoch or step was kept.
        dev_scores: The dev score of each evaluation.
        dev_score: That of the weights that were kept; None without dev data.
        labels: How many different labels they predict on dev; None without dev data.
        seconds: How long it took, data and encoder not counted.
        training_id: What tells this training from another one with the same folder.
        found_nothing: That the model predicts nothing of use on dev, and what to try; None where it does.
        advice: What might give a better one; None where nothing speaks for it.
    """

    best: str
    dev_scores: list[float] = field(default_factory=list)
    dev_score: float | None = None
    labels: int | None = None
    seconds: float = 0.0
    training_id: str = ""
    found_nothing: str | None = None
    advice: str | None = None


def write_training_run(plan: Plan, encoder: dict[str, Any], outcome: Outcome) -> Run:
    """Write head, adapters or encoder, and all that is needed to use or repeat the training.

    Args:
        plan: What was trained.
        encoder: What the encoder was before training, from `Encoder.describe`.
        outcome: What came out.
    """
    task, settings, tuning = plan.task, plan.settings, plan.tuning
    head = plan.encoder.model.heads[task.name].config
    trainable, total = trainable_share(plan.report)
    languages = plan.data.get("dev", {}).get("language")
    dev = {language: outcome.dev_score for language in ([languages] if isinstance(languages, str) else [])}
    config: dict[str, Any] = {
        **model_record(task, encoder, head, settings, tuning),
        "model": {},
        "seed": settings.steps.seed,
        "training": {
            **settings.as_dict(),
            **tuning.record(),
            **({"fuse_layer_choice": plan.choice.to_dict()} if plan.choice else {}),
            "id": outcome.training_id,
            "best": outcome.best,
            "picked_on": f"{language_names(languages)} dev" if languages else "nothing: the last step",
            "dev_scores": outcome.dev_scores,
            **({"rates_tried": {f"{rate:g}": score for rate, score in plan.tried.items()}} if plan.tried else {}),
            "steps": plan.steps,
            **{name: said for name in ("found_nothing", "advice") if (said := getattr(outcome, name))},
            "trainable_parameters": trainable,
            "parameters": total,
            "seconds": outcome.seconds,
            **machine(),
        },
        "data": plan.data,
        "metrics": {"name": metrics_for(task)[0].main_score, "dev": dev or outcome.dev_score},
    }

    def write_files(folder: Path) -> None:
        config["model"] = save_trained(
            plan.model, plan.encoder.model, plan.encoder.tokenizer, task.name, tuning.saved, folder
        )

    return write_run(plan.out, config, write_files)


def model_record(
    task: Task, encoder: dict[str, Any], head: Mapping[str, Any], settings: Settings, tuning: Tuning
) -> dict[str, Any]:
    """What `run.json` says of a model: its task and labels, encoder, head, windows and tuning.

    Args:
        task: What it was trained for, which also names the head.
        encoder: From `Encoder.describe`.
        head: The head's configuration.
        settings: Resolved ones.
        tuning: What learned.
    """
    return {
        "task": task.name,
        "labels": list(task.labels),
        **({"pair": task.pair} if task.kind == "classification" else {}),
        "encoder": encoder,
        "head": {"name": task.name, **{key: head[key] for key in HEAD_OPTIONS}},
        "windows": {
            "max_length": settings.text.max_length,
            "context": settings.text.context,
            "pooling": settings.head.pooling,
        },
        "tuning": str(tuning),
    }


def machine() -> dict[str, Any]:
    """What a training ran on and took of it, for its record."""
    return {"peak_memory_mb": peak_memory_mb(), "device": device_name(), "processes": world_size()}


def peak_memory_mb() -> int | None:
    """The most memory that PyTorch held on the GPU; without one, that the process held. None where unknown."""
    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / 2**20)
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)


def language_names(languages: str | Sequence[str]) -> str:
    """Languages for a sentence."""
    named = [languages] if isinstance(languages, str) else languages
    return ", ".join("English" if language == "en" else language for language in named)
