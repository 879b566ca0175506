"""What is to be trained: encoder, head, tuning and data put together, all of it known before the first step."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import set_seed

from dlfa_adapters.data.places import Reading
from dlfa_adapters.encoders import Encoder, load_encoder
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.ground.environment import Progress, device_name, world_size
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.arguments import least_steps, shorter_epochs, told
from dlfa_adapters.learning.auto_layer import AUTO, LayerChoice, choose_layer
from dlfa_adapters.learning.centred import read_centring
from dlfa_adapters.learning.cut import fit_length, settings_to_predict, windows_of
from dlfa_adapters.learning.data_notes import data_notes
from dlfa_adapters.learning.dataset import (
    Sources,
    check_same_kind,
    describe_data,
    load_dev,
    load_split,
    make_examples,
    task_for,
)
from dlfa_adapters.learning.plan_words import data_in_words, learning_in_words, left_out_in_words
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.several_tasks import SeveralTasks, read_tasks, tasks_in_a_line
from dlfa_adapters.learning.source_options import named_languages
from dlfa_adapters.learning.sources import in_a_line, mix
from dlfa_adapters.predict.options import with_runs
from dlfa_adapters.tasks import Task
from dlfa_adapters.tuning import TUNINGS, PartSize, Tuning, parameter_report


@dataclass
class Plan:
    """A training that is about to begin; `train` hands it to `on_start`.

    Attributes:
        task: The task, with the labels of the head.
        tuning: The tuning.
        settings: Resolved ones.
        encoder: The encoder, with the head on it.
        model: The model that learns: that of the encoder, or what the tuning put around it.
        out: Where the run will be.
        data: For `train` and `dev`: source, language, items, fingerprint.
        report: Parameters by part.
        taken: What the files were taken for.
        notes: Sentences that the user should read.
        choice: The fuse layer that was chosen, and why; None where it was given.
        tried: Learning rates of the head that were tried, and the best dev score at each.
        steps: How many there will be in all, unless the training ends earlier.
        shorter: See `shorter_epochs`.
        lengths: Epochs of several trainings, and the best dev score of each.
        states: What happens to the states of blocks that do not change; nothing where there are none.
        centring: What is taken off the states that the head reads; None: nothing.
        windows: How the run cuts what it predicts.
        options: What else it reads, see `Kind.options`.
    """

    task: Task
    tuning: Tuning
    settings: Settings
    encoder: Encoder
    model: Any
    out: Path
    data: dict[str, dict[str, Any]]
    report: list[PartSize] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    choice: LayerChoice | None = None
    tried: dict[float, float] = field(default_factory=dict)
    steps: int = 0
    shorter: int = 0
    lengths: dict[int, float] = field(default_factory=dict)
    states: str = ""
    centring: Centring | None = None
    windows: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """What is going to be trained, and what else there is: for the screen or a log, without the notes."""
        steps, head = self.settings.steps, self.encoder.model.heads[self.task.name].config
        layers = f", fuse layer {', '.join(map(str, head['fuse_layer']))}" if head["fuse_layer"] else ""
        others = ", ".join(name for name in TUNINGS if name != self.tuning.name)
        where = device_name("no GPU")
        rate = f"learning rate {steps.learning_rate:g}"
        if steps.head_learning_rates and "dev" in self.data:
            how = "for three evaluations each" if head["classifier"] == "bilstm" else "side by side"
            rate = f"learning rates {', '.join(f'{each:g}' for each in steps.head_learning_rates)} tried {how}"
        elif steps.head_learning_rate != steps.learning_rate:
            rate += f", head {steps.head_learning_rate:g}"
        epochs = f"{steps.epochs} epochs ({self.steps:,} steps)"
        length = f"{steps.max_steps} steps" if steps.max_steps > 0 else epochs
        gate = f", gate {head['gate']}" if head["fusion"] == "dlfa" else ""
        lstm = f", LSTM of 2 x {head['lstm_hidden']} units" if head["classifier"] == "bilstm" else ""
        data = [
            ("" if name == "train" else f"{name} ") + data_in_words(described) for name, described in self.data.items()
        ]
        return [
            f"Encoder: {self.encoder.origin}",
            f"Tuning: {self.tuning} ({self.tuning.summary}){left_out_in_words(self.tuning)}; there is also {others}",
            f"Head: {head['fusion']}{layers}{gate}{lstm}, {len(self.task.labels)} labels",
            f"Data: {'; '.join(data)}",
            *in_a_line(self.data["train"].get("sources")),
            *tasks_in_a_line(self.data, self.task.name),
            *(f"Read: {line}" for line in self.taken),
            learning_in_words(self.report),
            f"Steps: {length}, batch {steps.batch_size}, {rate}, {self.settings.machine.precision}; {where}",
            *([self.states] if self.states else []),
            *([self.centring.line()] if self.centring else []),
        ]

    def reading(self, language: str) -> AbstractContextManager[None]:
        """Within it, `model` reads that language; where languages are not centred, it does not matter which."""
        return self.centring.reading(language) if self.centring else nullcontext()

    def known_by(self) -> dict[str, Any]:
        """What makes it another training than one that began with other data or means."""
        return {**self.data, **({"center": self.centring.means.digest} if self.centring else {})}


@dataclass
class Ready:
    """A training of which the first step can be taken.

    Attributes:
        plan: What the user is told.
        encoder: What the encoder is before training, from `Encoder.describe`.
        train: Training data.
        dev: Source dev data, or None.
        several: Training data of several tasks; None where there is one.
    """

    plan: Plan
    encoder: dict[str, Any]
    train: Examples
    dev: Examples | None
    several: SeveralTasks | None = None

    @property
    def learned(self) -> Examples | SeveralTasks:
        """What the steps are made of."""
        return self.several or self.train


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
    """Read everything, and build the model with the first weights of its seed; see `train` for the arguments.

    `chosen` is the fuse layer that was chosen when the training began; where it is None, one is chosen if it shall be.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the data cannot be read or are not for this task.
    """
    rows = load_split(source, task, "train", language, reading)
    dev_rows = load_dev(dev_source, source, task, language, reading)
    check_same_kind(rows, dev_rows)
    known = task_for(task, rows, labels)
    kind = kind_of_task(known)
    of_head, options = kind.split_options(settings.kind)
    read = with_runs(kind, options)
    loaded = load_encoder(model)
    settings, notes = fit_length(settings, loaded.model)
    encoder = loaded.describe()
    languages = [language for each in (rows, dev_rows) if each is not None for language in each.dataset["language"]]
    centring, named = read_centring(settings, loaded.model, languages), named_languages(source, language)
    if settings.head.fuse_layer == AUTO:
        if world_size() > 1:
            raise ConfigError("--fuse-layer auto runs in one process; choose the layer with dlfa sweep first.")
        dev_data = dev_rows and dev_rows.dataset
        more = (settings, out, progress, centring, read, named)
        chosen = chosen or choose_layer(loaded, known, rows.dataset, dev_data, *more)
        settings = settings.changed(fuse_layer=(chosen.layer,))
    set_seed(settings.steps.seed)
    loaded.model.add_dlfa_head(
        known.name,
        head_type=kind.head_types[0],
        id2label=known.id2label,
        overwrite_ok=True,
        **kind.head_options,
        **of_head,
        **settings.head.keywords(),
    )
    learner = tuning.prepare(loaded.model, known.name)
    data = {"train": describe_data(rows, source)}
    if dev_rows is not None:
        data["dev"] = describe_data(dev_rows, source if dev_source is None else dev_source)
    train = make_examples(known, rows.dataset, loaded.tokenizer, settings, read)
    data["train"] |= mix(train, source, language, settings.steps)
    are_drawn = not tuning.on_states
    several = read_tasks(settings, named, train, loaded, data, are_drawn=are_drawn)
    given, count = settings, (several if several and are_drawn else train).epoch_rows
    plateau = tuning.on_states and settings.head.classifier == "bilstm"
    settings = least_steps(given, count, plateau=plateau)
    cut = settings_to_predict(settings, known, loaded)
    dev = make_examples(known, dev_rows.dataset, loaded.tokenizer, cut, read) if dev_rows else None
    plan = Plan(known, tuning, settings, loaded, learner, out, data, parameter_report(learner), choice=chosen)
    plan.centring = centring and centring.of_head(loaded.model.heads[known.name].indices)
    plan.taken = [*rows.taken, *(dev_rows.taken if dev_rows else ())]
    plan.steps, plan.windows, plan.options = settings.steps.total(count), windows_of(cut), options
    items = f"{len(train.gold):,} {kind.texts}"
    plan.shorter = shorter_epochs(given, settings, tuning, with_dev=dev is not None)
    plan.notes += notes + told(given, settings, count, items, plateau=plateau, shorter=plan.shorter) + _notes(plan)
    plan.notes += data_notes(rows, dev_rows, known)
    if (out / "run.json").is_file():
        plan.notes.append(f"{out} holds an earlier run, which this one replaces when it is done.")
    return Ready(plan, encoder, train, dev, several)


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
