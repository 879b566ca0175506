"""Encoder, head, tuning and data put together, up to the first step."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import set_seed

from dlfa_adapters.data.reading import Reading
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.running import Progress, world_size
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Examples
from dlfa_adapters.learning.auto_layer import AUTO, LayerChoice, choose_layer
from dlfa_adapters.learning.dataset import data_notes, make_examples
from dlfa_adapters.learning.plan import Plan, Sources, check_same_kind, describe_data, load_dev, load_split, task_for
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.steps import least_steps, told
from dlfa_adapters.tuning import Tuning, parameter_report


@dataclass
class Ready:
    """A training of which the first step can be taken.

    Attributes:
        plan: What the user is told.
        encoder: What the encoder is before training, from `Encoder.describe`.
        train: Training data.
        dev: Source dev data, or None.
    """

    plan: Plan
    encoder: dict[str, Any]
    train: Examples
    dev: Examples | None


def prepare(
    task: str,
    source: Sources,
    dev_source: Sources | None,
    language: str | None,
    reading: Reading,
    labels: str | None,
    model: str,
    tuning: Tuning,
    settings: Settings,
    out: Path,
    chosen: LayerChoice | None,
    progress: Progress,
) -> Ready:
    """Read everything, and build the model with the first weights of its seed.

    Args:
        task: See `train`.
        source: Training data.
        dev_source: Dev data, see `load_dev`.
        language: See `load_split`.
        reading: How files are read.
        labels: See `task_for`.
        model: Name of the encoder.
        tuning: The tuning.
        settings: Resolved ones.
        out: The run folder.
        chosen: The layer that was chosen when the training began; None: it is chosen if it shall be.
        progress: Called after each step of choosing.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the data cannot be read or are not for this task.
    """
    rows = load_split(source, task, "train", language, reading)
    dev_rows = load_dev(dev_source, source, task, language, reading)
    check_same_kind(rows, dev_rows)
    known = task_for(task, rows, labels)
    kind = kind_of_task(known)
    if tuning.on_states and not kind.label_a_unit:
        kind.scorer()  # which says what to type
    loaded = load_encoder(model)
    encoder = loaded.describe()
    if settings.head.fuse_layer == AUTO:
        if world_size() > 1:
            raise ConfigError("--fuse-layer auto runs in one process; choose the layer with dlfa sweep first.")
        dev_data = dev_rows and dev_rows.dataset
        chosen = chosen or choose_layer(loaded, known, rows.dataset, dev_data, settings, out, progress)
        settings = settings.changed(fuse_layer=(chosen.layer,))
    set_seed(settings.steps.seed)
    loaded.model.add_dlfa_head(
        known.name,
        head_type=kind.head_types[0],
        id2label=known.id2label,
        overwrite_ok=True,
        **kind.head_options,
        **settings.head.keywords(),
    )
    learner = tuning.prepare(loaded.model, known.name)
    data = {"train": describe_data(rows, source)}
    if dev_rows is not None:
        data["dev"] = describe_data(dev_rows, source if dev_source is None else dev_source)
    train = make_examples(known, rows.dataset, loaded.tokenizer, settings)
    given, count = settings, len(train.rows)
    plateau = tuning.on_states and settings.head.classifier == "bilstm"
    settings = least_steps(given, count, plateau=plateau)
    dev = make_examples(known, dev_rows.dataset, loaded.tokenizer, settings) if dev_rows else None
    plan = Plan(known, tuning, settings, loaded, learner, out, data, parameter_report(learner), choice=chosen)
    plan.taken = [*rows.taken, *(dev_rows.taken if dev_rows else ())]
    plan.steps = settings.steps.total(count)
    items = f"{len(train.gold):,} {kind.texts}"
    plan.notes += told(given, settings, count, items, plateau=plateau) + _notes(plan)
    plan.notes += data_notes(rows, dev_rows, known)
    if (out / "run.json").is_file():
        plan.notes.append(f"{out} holds an earlier run, which this one replaces when it is done.")
    return Ready(plan, encoder, train, dev)


def _notes(plan: Plan) -> list[str]:
    """What the user should know before it begins."""
    notes = [plan.choice.why] if plan.choice else []
    frozen = plan.tuning.frozen_blocks(plan.encoder.model.config.num_hidden_layers)
    layers = plan.encoder.model.heads[plan.task.name].config["fuse_layer"] or []
    last = plan.encoder.model.config.num_hidden_layers
    if last in layers and plan.settings.head.fusion == "dlfa":
        notes.append(f"Layer {last} is the last one: this is the control D_{last}, the last layer fused with itself.")
    low = [layer for layer in layers if layer <= frozen]
    if low and not plan.tuning.on_states:
        notes.append(f"Fuse layer {low[0]} lies in the frozen part (layers 0 to {frozen}): its states do not change.")
    if "dev" not in plan.data:
        notes.append("There are no dev data, so the weights of the last step are kept; name some with --dev.")
    return notes
