"""What is wrong with a training and can be known without a model: looked at before PyTorch is loaded."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import (
    SAMPLE_TASKS,
    Reading,
    check_encoder_name,
    check_languages,
    check_source,
    check_there,
    each_place,
)
from dlfa_adapters.data.sentences import check_splitter
from dlfa_adapters.encoders.means_record import read_record
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import Kind, kind_of_task
from dlfa_adapters.learning.aux_options import check_aux
from dlfa_adapters.learning.loops import check_honoured
from dlfa_adapters.learning.ranges import check_steps
from dlfa_adapters.learning.settings import Settings, make_settings
from dlfa_adapters.learning.source_options import check_sources, named_languages
from dlfa_adapters.predict.options import check_runs
from dlfa_adapters.runs import check_run_place
from dlfa_adapters.runs.lifecycle import check_training_place, read_plan
from dlfa_adapters.scores.groups import check_each_once
from dlfa_adapters.tasks import get_task
from dlfa_adapters.tuning import Tuning, get_tuning
from dlfa_adapters.tuning.bottleneck import check_language_config

NO_DEV = "none"
SAMPLERS = ("grid", "tpe")
BETO_GRID: dict[str, tuple[float, ...]] = {
    "learning_rate": (2e-5, 3e-5, 5e-5),
    "batch_size": (16, 32),
    "epochs": (3, 4),
}
"""The grid of Wu and Dredze 2019 (arXiv 1904.09077), searched on English dev data; it is for full fine-tuning."""
LANGUAGE_RECORD = "language.json"
"""What a language adapter's folder is known by: `heads.language.RECORD`."""


def default_source(task: str, option: str = "--train:") -> str:
    """The samples of a task, where there are some.

    Raises:
        ConfigError: If there are none.
    """
    if task not in SAMPLE_TASKS:
        raise ConfigError(
            f"There are no samples of {task!r}; name training data with {option} a file, a folder, or hub:NAME."
        )
    return f"samples:{SAMPLE_TASKS[task]}"


def check_training(task: str, *, tuning: str | None = None, out: str | Path | None = None, **options: Any) -> None:
    """Refuse what cannot work; see `train` for the arguments.

    Raises:
        ConfigError: If an option has a value that cannot work, something stands where the run shall be, or there is no
            such encoder.
        DataError: If there are no such data.
    """
    check_options(task, tuning=tuning, **options)
    if out is not None or tuning is not None:
        folder = Path(out or f"runs/{task}-{get_tuning(str(tuning)).name}")
        check_training_place(folder)


def check_options(
    task: str,
    *,
    train_data: Any = None,
    dev_data: Any = None,
    language: str | None = None,
    labels: str | None = None,
    model: str = "offline",
    tuning: str | None = None,
    check: Callable[[Settings, Tuning], None] = check_honoured,
    **options: Any,
) -> None:
    """Refuse options that cannot work, wherever what is trained shall be; see `train`.

    Where the tuning is known, `check` refuses what its way of training does not honour.

    Raises:
        ConfigError: If an option has a value that cannot work or changes nothing, or there is no such encoder.
        DataError: If there are no such data.
    """
    reading = Reading.taken_from(options)
    settings = make_settings(**options)
    method = None if tuning is None else get_tuning(tuning, settings.steps.leave_out)
    check_kind(task, settings, method)
    if method is not None:
        check(settings, method)
    check_labels_from(labels)
    check_documents(task, settings.text.first_sentences)
    source = default_source(task) if train_data is None else train_data
    dev = None if isinstance(dev_data, str) and dev_data == NO_DEV else dev_data
    places = [(place, "train") for place in each_place(source)] + [(place, "dev") for place in each_place(dev)]
    reading.check([place for place, _ in places])
    for place, which in ((source, "train_data"), (dev, "dev_data")):
        check_each_once(place if isinstance(place, Mapping) else (), which)
    named = named_languages(source, language)
    check_sources(settings.steps, named)
    check_aux(task, settings, method, named)
    for place, split in places:
        if place is not None:
            check_source(place, split, reading.of(place).get("format"))
    check_languages_there(source, task, language)
    for file in (settings.text.parallel, settings.text.target_text):
        if file is not None:
            check_there(file)
    if settings.text.center is not None:
        read_record(settings.text.center)
    check_encoder_name(model)


def check_languages_there(source: Any, task: str, language: str | None) -> None:
    """Refuse, with a `DataError`, data of which names of files tell that they are not in the source languages."""
    by_language = source if isinstance(source, Mapping) else {}
    for code, place in by_language.items():
        if isinstance(place, str | Path):
            check_languages(place, task, "train", [code])
    if isinstance(source, str | Path):
        named = named_languages(source, language)
        try:
            check_languages(source, task, "train", named or ["en"])
        except DataError as error:
            if named:
                raise
            raise DataError(f"{error}; the source is en unless you type --language and another one") from None


def check_documents(task: str, first_sentences: int | None) -> None:
    """Refuse sentences of documents for a known task that has none.

    Raises:
        ConfigError: If it is for words, or for pairs of texts.
        MissingExtraError: If what parts sentences is not installed.
    """
    known = get_task(task)
    if first_sentences and known is not None and (known.pair or not kind_of_task(known).takes_pairs):
        what = "pairs of texts" if known.pair else "words"
        raise ConfigError(f"--first-sentences cuts documents, and {task} is for {what}; leave it out.")
    check_splitter(first_sentences)


def known_kind(task: str) -> Kind | None:
    """The kind of a task known by name; None for any other name, whose kind is that of its data."""
    known = get_task(task)
    return None if known is None else kind_of_task(known)


def check_kind(task: str, settings: Settings, tuning: Tuning | None) -> None:
    """Refuse what the kind of a known task does not have: options, a tuning.

    Raises:
        ConfigError: Saying what to type.
        RunError: If an option names a run, and it is none.
    """
    if (kind := known_kind(task)) is None:
        return
    check_runs(kind, kind.split_options(settings.kind)[1])
    if tuning is not None and tuning.on_states and not kind.learns_on_states:
        kind.scorer()


def check_language_training(
    language: str,
    text: Sequence[str | Path],
    *,
    format: str = "text",
    model: str = "offline",
    out: str | Path | None = None,
    config: str = "seq_bn_inv",
    reduction: float = 2,
    steps: int = 2000,
    **options: Any,
) -> None:
    """Refuse what cannot work; see `train_language` for the arguments.

    Raises:
        ConfigError: If an option has a value that cannot work, something stands where the adapter shall be, or there is
            no such encoder.
        DataError: If there is no such text.
    """
    check_language_config(config, reduction)
    check_steps(steps)
    options.pop("leave_out", None)
    make_settings(**options)
    for file in text:
        check_there(file)
        check_source(file, "train", format)
    check_encoder_name(model)
    folder = Path(out or f"adapters/{language}")
    check_training_place(folder, LANGUAGE_RECORD)


def check_search(
    task: str, *, out: str | Path, grid: Mapping[str, Sequence[Any]], sampler: str = "grid", **options: Any
) -> None:
    """Refuse what cannot work; see `tune` for the arguments.

    Raises:
        ConfigError: If an option has a value that cannot work, or is both given and searched for, or something stands
            where the run shall be.
        DataError: If there are no such data.
    """
    check_run_place(Path(out))
    if sampler not in SAMPLERS:
        raise ConfigError(f"sampler must be one of {', '.join(SAMPLERS)}; got {sampler!r}.")
    twice = [name for name in grid if options.get(name) is not None]
    if twice:
        raise ConfigError(f"{twice[0]} is both given and searched for; leave one of the two out.")
    for name, values in grid.items():
        for value in values:
            check_options(task, **{**options, name: value})


def check_resume(out: Path, records: Sequence[str] = ("run.json",)) -> None:
    """Refuse to go on where nothing was begun.

    Raises:
        RunError: If there is neither a training of it that did not end, nor what it would have written, by its record.
    """
    if not any((out / record).is_file() for record in records):
        read_plan(out)


def check_labels_from(labels: str | None) -> None:
    """Refuse, with a `ConfigError`, another word than `task` and `data`; see `dataset.task_for`."""
    if labels not in (None, "task", "data"):
        raise ConfigError(f"labels must be task or data, got {labels!r}.")
