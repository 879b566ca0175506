"""What a training came to: whether the model is of use, whether more might do better, and its run folder."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.encoders import Encoder
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.ground.environment import device_name, world_size
from dlfa_adapters.heads.schema import folder_name
from dlfa_adapters.kinds import kind_of_task, metrics_for
from dlfa_adapters.kinds.examples import MACRO_F1, Examples
from dlfa_adapters.learning.aux_options import read_aux
from dlfa_adapters.learning.cut import settings_to_predict, windows_of
from dlfa_adapters.learning.dataset import labels_in
from dlfa_adapters.learning.features import add_trained_head
from dlfa_adapters.learning.frozen import TrainedHead
from dlfa_adapters.learning.plan import Plan
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.runs import Run, write_run
from dlfa_adapters.runs.lifecycle import Training
from dlfa_adapters.runs.record import run_record
from dlfa_adapters.tasks import Task
from dlfa_adapters.tuning import PartSize, trainable_share
from dlfa_adapters.tuning.saving import save_trained

_STILL = 0.5  # points of the dev score
_TAIL = 0.2  # of the evaluations


@dataclass
class Outcome:
    """What came out of a training.

    Attributes:
        best: Which epoch or step is the best.
        dev_scores: The dev score of each evaluation.
        dev_score: That of the best weights; None without dev data.
        labels: How many different labels they predict on dev; None without dev data.
        by_language: Of the best weights `dev`, the score of each language, and `macro_f1`, that of each.
        seconds: How long it took, data and encoder not counted.
        found_nothing: That the model predicts nothing of use on dev, and what to try; None where it does.
        advice: What might give a better one; None where nothing speaks for it.
    """

    best: str
    dev_scores: list[float] = field(default_factory=list)
    dev_score: float | None = None
    labels: int | None = None
    by_language: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    found_nothing: str | None = None
    advice: str | None = None


def verdict(plan: Plan, dev: Examples | None, outcome: Outcome) -> tuple[str | None, str | None]:
    """Judge a training by its dev scores.

    Returns:
        That the model is of no use yet, and what to try; and that it was still getting better at its end, and what to
        type. None for each of the two where it is not so.
    """
    if dev is None or outcome.dev_score is None:
        return None, None
    return _found_nothing(plan, dev, outcome), _advice(plan, outcome)


def _found_nothing(plan: Plan, dev: Examples, outcome: Outcome) -> str | None:
    """A score of nothing, or a single label for all of dev, which has several."""
    name = metrics_for(plan.task)[0].main_score
    if labels_in(plan.task, dev.gold) < 2:  # nothing to find there
        return None
    if outcome.dev_score == 0:
        what = f"{name} on dev is 0.0: the model finds nothing there"
    elif outcome.labels == 1:
        what = f"The model gives all of dev one and the same label ({name} {outcome.dev_score:.1f})"
    else:
        return None
    steps = "" if _may_end_itself(plan) else f", after {plan.steps:,} steps"
    rate = "--head-lr" if plan.tuning.on_states else "--lr"
    return (
        f"{what}{steps}. Try {_longer(plan)}, another {rate} or --fuse-layer auto, and look at "
        "the labels with dlfa data check FILE."
    )


def _advice(plan: Plan, outcome: Outcome) -> str | None:
    """Where the last fifth of the evaluations was better than all before it, the training may have ended too early."""
    scores = outcome.dev_scores
    before = scores[: int(len(scores) * (1 - _TAIL))]
    longer_was_tried = (plan.settings.steps.epochs or 1) < max(plan.lengths, default=0)
    if not before or longer_was_tried or _may_end_itself(plan):
        return None
    if max(scores) < max(before) + _STILL or max(scores) >= 100:
        return None
    return (
        f"Of {len(scores)} evaluations on dev the best was near the end ({outcome.best}, {max(scores):.1f}; before it "
        f"{max(before):.1f}), so more may do better: type {_longer(plan)}."
    )


def _may_end_itself(plan: Plan) -> bool:
    """Whether the training ends when dev stands still, whatever was planned."""
    lstm = plan.tuning.on_states and plan.settings.head.classifier == "bilstm"
    return lstm or plan.settings.steps.patience > 0


def _longer(plan: Plan) -> str:
    """Twice the training, or as many steps as are the tuning's least, as it is typed."""
    settings, least = plan.settings, plan.tuning.defaults_for(plan.settings.head.classifier).min_steps
    if settings.steps.max_steps > 0:
        return f"--max-steps {max(2 * settings.steps.max_steps, least)}"
    epochs = settings.steps.epochs or 1
    return f"--epochs {max(2 * epochs, -(-least * epochs // max(1, plan.steps)))}"


def write_training_run(training: Training, plan: Plan, encoder: dict[str, Any], outcome: Outcome) -> None:
    """Write head, adapters or encoder, and all that is needed to use or repeat the training."""
    task, settings, tuning = plan.task, plan.settings, plan.tuning
    trainable, total = trainable_share(plan.report)
    languages = plan.data.get("dev", {}).get("language")
    by_language, macro_f1 = outcome.by_language.get("dev"), outcome.by_language.get(MACRO_F1)
    aux = read_aux(settings.steps.aux) if settings.steps.aux else ()
    aux_heads = {name: f"aux/{folder_name(name)}" for name in aux}
    dev = {languages: outcome.dev_score} if isinstance(languages, str) else by_language
    config = run_record(
        task,
        encoder=encoder,
        head=plan.encoder.model.heads[task.name].config,
        windows=plan.windows,
        options=plan.options,
        tuning=str(tuning),
        model={},
        seed=settings.steps.seed,
        training={
            **settings.as_dict(),
            **tuning.record(),
            **({"fuse_layer_choice": plan.choice.to_dict()} if plan.choice else {}),
            "id": training.id,
            "best": outcome.best,
            "picked_on": f"{language_names(languages)} dev" if languages else "nothing: the last step",
            "dev_scores": outcome.dev_scores,
            **({"rates_tried": {f"{rate:g}": score for rate, score in plan.tried.items()}} if plan.tried else {}),
            **({"epochs_tried": {str(n): score for n, score in plan.lengths.items()}} if plan.lengths else {}),
            "steps": plan.steps,
            **{name: note for name in ("found_nothing", "advice") if (note := getattr(outcome, name))},
            "trainable_parameters": trainable,
            "parameters": total,
            "seconds": outcome.seconds,
            **machine(),
            **({"aux_heads": aux_heads} if aux_heads else {}),
        },
        data=plan.data,
        metrics={
            "name": metrics_for(task)[0].main_score,
            "dev": dev or outcome.dev_score,
            **({MACRO_F1: macro_f1} if macro_f1 else {}),
        },
    )

    if plan.centring is not None:
        config["center"] = plan.centring.describe()

    def write_files(folder: Path) -> None:
        if plan.centring is not None:
            plan.centring.save(folder)
        config["model"] = save_trained(
            plan.model, plan.encoder.model, plan.encoder.tokenizer, task.name, tuning.saved, folder
        )
        for name, place in aux_heads.items():
            plan.encoder.model.save_head(str(folder / place), name)

    training.end(config, write_files)


def write_head_run(
    out: str | Path,
    encoder: Encoder,
    task: Task,
    trained: TrainedHead,
    settings: Settings,
    centring: Centring | None = None,
    **record: Any,
) -> Run:
    """Put a head that learnt on frozen states on its encoder, and write its run.

    `record` is what else `run_record` takes; by default the head is described by its configuration.

    Raises:
        ConfigError: If something that is not a run is in the way.
    """
    model, described, cut = encoder.model, encoder.describe(), settings_to_predict(settings, task, encoder)
    add_trained_head(model, task.name, trained, task.labels, kind_of_task(task).head_types[0])
    said = {"head": model.heads[task.name].config, "seed": trained.spec.seed, **record}
    config = run_record(task, encoder=described, windows=windows_of(cut), tuning="features", **said)
    centring = centring and centring.of_head(model.heads[task.name].indices)
    if centring is not None:
        config["center"] = centring.describe()

    def write_files(folder: Path) -> None:
        if centring is not None:
            centring.save(folder)
        model.save_head(str(folder / "head"), task.name)

    return write_run(out, config, write_files)


def machine() -> dict[str, Any]:
    """What a training ran on and took of it, for its record."""
    return {"peak_memory_mb": peak_memory_mb(), "device": device_name(), "processes": world_size()}


def masked_training(training: Training, report: list[PartSize], seconds: float) -> dict[str, Any]:
    """What the record of a training by masked language modelling says of it behind its options."""
    trainable, total = trainable_share(report)
    sizes = {"trainable_parameters": trainable, "parameters": total}
    return {"id": training.id, "seconds": seconds, **sizes, **machine()}


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
