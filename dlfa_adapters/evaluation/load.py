"""From a run folder to something that predicts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from dlfa_adapters.errors import RunError
from dlfa_adapters.evaluation.classifier import Classifier
from dlfa_adapters.evaluation.tagger import Tagger
from dlfa_adapters.runs import Run, load_encoder, read_run
from dlfa_adapters.tasks import Task, TaskKind, classification_task, get_task, tagging_task
from dlfa_adapters.tuning.saving import ENCODER, load_trained


def load_run(run: str | Path | Run) -> Tagger | Classifier:
    """Load the model of a run: the encoder that it was trained on, or its own, with what was trained on it.

    Args:
        run: A run folder, or what `read_run` made of it.

    Returns:
        A tagger or a classifier, by the kind of the head. It predicts what it predicted in the process that trained it.

    Raises:
        RunError: If the folder is not a whole run, the encoder now found under its name is another one, or the head is
            neither for tagging nor for classification.
        ConfigError: If the encoder cannot be loaded.
        MissingExtraError: If it is the offline encoder and the extra `demo` is not installed.
    """
    run = run if isinstance(run, Run) else read_run(run)
    recorded = run.config["encoder"]
    model = run.config.get("model", {"saved": "head"})  # which the first runs do not have
    whole = model["saved"] == "encoder"
    encoder = load_encoder(str(run.folder / ENCODER) if whole else recorded["name"])
    found = encoder.describe()["fingerprint"]
    if not whole and found != recorded["fingerprint"]:
        raise RunError(
            f"The run {run.folder} was trained on {recorded['name']} with fingerprint {recorded['fingerprint']}, "
            f"the encoder found under that name has {found}; use the weights that the run was trained on."
        )
    kind = kind_of(run)
    name = run.config["head"]["name"]
    trained = load_trained(encoder.model, name, model, run.folder)
    labels, windows = run.config["labels"], run.config["windows"]
    if kind == "tagging":
        return Tagger(trained, encoder.tokenizer, labels, **windows)
    return Classifier(trained, encoder.tokenizer, labels, max_length=windows["max_length"])


def load_tagger(run: str | Path | Run) -> Tagger:
    """Load the model of a tagging run; see `load_run`.

    Raises:
        RunError: Also if it is a run of another kind.
    """
    run = run if isinstance(run, Run) else read_run(run)
    if kind_of(run) != "tagging":
        raise RunError(f"The run {run.folder} labels whole texts (task {run.config['task']}), it does not tag words.")
    return cast(Tagger, load_run(run))


def kind_of(run: Run) -> TaskKind:
    """Whether a run tags words or classifies texts, as its head says.

    Raises:
        RunError: If the head does neither.
    """
    config = json.loads((run.folder / "head" / "head_config.json").read_text("utf-8"))["config"]
    kind = config["inner_head_type"]
    if kind not in get_args(TaskKind):
        raise RunError(f"The run {run.folder} has a head for {kind}; only tagging and classification can be used here.")
    return cast(TaskKind, kind)


def task_of(run: Run) -> Task:
    """The task of a run, with the labels that the run has, in its order, whatever the task's own are.

    Raises:
        RunError: If the head is neither for tagging nor for classification.
    """
    return with_labels(str(run.config["task"]), kind_of(run), run.config["labels"])


def with_labels(name: str, kind: TaskKind, labels: Sequence[str]) -> Task:
    """The task of this name and kind with exactly these labels.

    Args:
        name: A task that the library knows, or any other name.
        kind: `tagging` or `classification`; a known task of another kind is not taken.
        labels: Label names by id.
    """
    known = get_task(name)
    if known is not None and known.kind == kind:
        return known if known.labels == tuple(labels) else replace(known, labels=tuple(labels))
    make = tagging_task if kind == "tagging" else classification_task
    return replace(make(name, labels), labels=tuple(labels))
