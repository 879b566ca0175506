"""From a run folder to something that predicts, in the language of its adapter or another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.ground.errors import ConfigError, RunError, mend
from dlfa_adapters.ground.folders import check_writable
from dlfa_adapters.heads.saved_config import is_dlfa, read_head_config
from dlfa_adapters.kinds import kind_named, kind_of_head
from dlfa_adapters.predict.centred import centre
from dlfa_adapters.predict.options import options_of_run, with_runs
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.tasks import KINDS, Task, get_task

if TYPE_CHECKING:
    from dlfa_adapters.kinds.encoded import Predictor

_HEAD = "head/head_config.json"
PRECISIONS = {"fp32": "float32", "bf16": "bfloat16"}
"""Numbers to compute in, and what PyTorch calls them. float16 is none: the printed gate of DLFA overflows in it."""


def load_run(
    run: str | Path | Run,
    language_adapter: str | Path | None = None,
    *,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> "Predictor":
    """Load the model of a run: the encoder that it was trained on, or its own, with what was trained on it.

    Args:
        run: A run folder, or what `read_run` made of it.
        language_adapter: For a run that was trained over a language adapter: the folder of another language's, which
            takes its place. Head, labels and fuse layer stay.
        options: What the model reads besides, in the place of what the run says; see `Kind.options`.

    Returns:
        A tagger or a classifier, by the kind of the head. It predicts what it predicted in the process that trained it.

    Raises:
        RunError: If the folder is no complete run, the encoder now under its name is another one, or the head is
            neither for tagging nor for classification.
        ConfigError: If the encoder cannot be loaded, or the language adapter does not fit the run.
        MissingExtraError: If it is the offline encoder and the extra `demo` is not installed.
    """
    from dlfa_adapters.encoders.load import load_encoder
    from dlfa_adapters.encoders.positions import most_positions
    from dlfa_adapters.tuning.saving import ENCODER, load_trained

    run = run if isinstance(run, Run) else read_run(run)
    kind = kind_of(run)
    if language_adapter is not None:
        check_has_language(run)
    recorded = run.config["encoder"]
    model = run.config.get("model", {"saved": "head"})  # which the first runs do not have
    own_encoder = model["saved"] == "encoder"
    try:
        encoder = load_encoder(str(run.folder / ENCODER) if own_encoder else recorded["name"])
    except ConfigError as error:
        told = str(error).rpartition("; give ")[0] or str(error)
        raise ConfigError(f"{told}; the run {run.folder} was trained on it, so put it back under that name.") from error
    fingerprint = encoder.describe()["fingerprint"]
    if not own_encoder and fingerprint != recorded["fingerprint"]:
        raise RunError(
            f"The run {run.folder} was trained on {recorded['name']} with fingerprint {recorded['fingerprint']}, "
            f"the encoder found under that name has {fingerprint}; use the weights that the run was trained on."
        )
    name = run.config["head"]["name"]
    trained = load_trained(encoder.model, name, model, run.folder)
    trained.encoder_fingerprint = fingerprint
    labels, windows = run.config["labels"], dict(run.config["windows"])
    windows["max_length"] = min(windows["max_length"], most_positions(trained) or windows["max_length"])
    outputs = head_config(run)["num_labels"]
    if len(labels) != outputs:
        raise RunError(f"The run {run.folder} names {len(labels)} labels, but its head has {outputs}; train it again.")
    if language_adapter is not None:
        trained.use_language(language_adapter)
    read = with_runs(kind_named(kind), options_of_run(run, kind_named(kind), options))
    predictor = kind_named(kind).predictor(trained, encoder.tokenizer, labels, windows, takes_pairs(run), read)
    if "center" in run.config:
        centre(run, predictor)
    return predictor


def check_precision(precision: str) -> None:
    """Refuse another word than those of `PRECISIONS`.

    Raises:
        ConfigError: If it is one.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}; got {precision!r}.")


def source_adapter(run: Run) -> str | None:
    """Name of the language adapter that a run was trained over, or None."""
    names = run.config.get("model", {}).get("adapters", [])
    return str(names[0]) if len(names) > 1 else None


def check_has_language(run: Run) -> None:
    """Refuse a run that was not trained over a language adapter.

    Raises:
        ConfigError: Naming its tuning.
    """
    if source_adapter(run) is None:
        raise ConfigError(
            f"The run {run.folder} was trained with {run.config.get('tuning', 'a head alone')}, not over a language "
            "adapter, so there is none to change; train with --tuning stack:FOLDER."
        )


def check_new(folder: Path) -> None:
    """Refuse a place for a new folder where something stands, or where nothing can be written.

    Raises:
        ConfigError: If so.
    """
    check_writable(folder)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not an empty folder; give another place.")


def kind_of(run: Run) -> str:
    """The name of the kind of task that a run is for, as its head says: `tagging`, `classification`.

    Raises:
        RunError: If the head does neither.
    """
    check_description(run)
    head_type = head_config(run)["inner_head_type"]
    kind = kind_of_head(head_type)
    if kind is None or kind.head_types[0] != head_type:
        raise RunError(f"The run {run.folder} has a head for {head_type}; only {' and '.join(KINDS)} can be used here.")
    return kind.name


def head_config(run: Run) -> dict[str, Any]:
    """The options of a run's head, as they were saved with it."""
    saved = read_head_config(run.folder / "head")
    if saved is None or not is_dlfa(saved):
        raise _changed(run, f"{_HEAD} is not that of a DLFA head")
    return cast(dict[str, Any], saved["config"])


def check_description(run: Run) -> None:
    """Checks that `run.json`, the one file without a checksum, has all that loading needs and agrees with the head.

    What it has is of the right type: `read_run` sees to that.

    Raises:
        RunError: If something is missing, or its labels are not those of the head, in their order.
    """
    lacks = [name for name in ("task", "labels", "encoder", "head", "windows") if name not in run.config]
    lacks += [] if _HEAD in run.config["files"] else [f"files with {_HEAD}"]
    if lacks:
        raise _changed(run, f"it lacks {', '.join(lacks)}")
    ids = head_config(run).get("label2id")
    if ids and ids != {label: number for number, label in enumerate(run.config["labels"])}:
        raise _changed(run, f"its labels are not those of {_HEAD}, {', '.join(sorted(ids, key=ids.__getitem__))}")


def _changed(run: Run, what: str) -> RunError:
    return RunError(mend(run.folder / "run.json", what, "copy it again or train the run again"))


def source_languages(run: Run) -> list[str]:
    """The language or languages that a run was trained on; none if it does not tell."""
    names = run.config.get("data", {}).get("train", {}).get("language") or []
    return [language for language in ([names] if isinstance(names, str) else names) if language != UNKNOWN_LANGUAGE]


def task_of(run: Run) -> Task:
    """The task of a run, with the labels that the run has, in its order, whatever the task's own are.

    Raises:
        RunError: If the head is neither for tagging nor for classification.
    """
    return with_labels(str(run.config["task"]), kind_of(run), run.config["labels"])


def tasks_of_one_kind(runs: Sequence[Run]) -> list[Task]:
    """The tasks of some runs that are to be compared.

    Raises:
        ConfigError: If they are of several kinds.
        RunError: See `task_of`.
    """
    tasks = [task_of(run) for run in runs]
    for run, task in zip(runs, tasks, strict=True):
        if task.kind != tasks[0].kind:
            raise ConfigError(
                f"Runs of one kind of task are compared, but {runs[0].folder} is for {tasks[0].kind} and {run.folder} "
                f"for {task.kind}; give runs of one."
            )
    return tasks


def takes_pairs(run: Run) -> bool | None:
    """Whether a run classifies pairs of texts; None where neither it nor its task tells."""
    known = get_task(str(run.config["task"]))
    recorded = run.config.get("pair", None if known is None else known.pair)
    return None if recorded is None else bool(recorded)


def with_labels(name: str, kind: str, labels: Sequence[str]) -> Task:
    """The task of this name and kind with exactly these labels.

    Args:
        name: A task that the library knows, or any other name.
        kind: Name of its kind; a known task of another kind is not taken.
        labels: Label names by id.
    """
    known = get_task(name)
    if known is not None and known.kind == kind:
        return known if known.labels == tuple(labels) else replace(known, labels=tuple(labels))
    metric = kind_named(kind).to_learn(dict.fromkeys(labels, 1))[1]
    return replace(kind_named(kind).make_task(name, labels, metric), labels=tuple(labels))
