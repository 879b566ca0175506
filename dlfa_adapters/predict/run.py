"""Evaluating a run: read the data, check that they fit, predict every language, count what happened."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.environment import Progress, count_items, versions
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.kinds.encoded import Predictor
from dlfa_adapters.predict import Items, Predicted, Predictions
from dlfa_adapters.predict.forms import load_fast
from dlfa_adapters.predict.load import LanguageSwitch, describe_adapters, source_languages, task_of
from dlfa_adapters.predict.options import options_of_run
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.tasks import TASKS, Task, get_task

logger = logging.getLogger(__name__)


def predict_run(
    run: str | Path | Run,
    source: str | Path | Iterable[Any],
    *,
    task: str | None = None,
    split: str = "test",
    languages: Iterable[str] | None = None,
    format: str | None = None,
    word_column: int | str | None = None,
    tag_column: int | str | None = None,
    limit: int | None = None,
    language_adapters: Mapping[str, str | Path] | None = None,
    precision: str = "fp32",
    compile: bool = False,
    options: Mapping[str, Any] = MappingProxyType({}),
    progress: Progress | None = None,
) -> Predictions:
    """Let the model of a run predict all of some data, for `scores.evaluate.build_report` and `scores.compare.compare`.

    Args:
        run: A run folder.
        source: Data, as for `data.sources.load_source`.
        task: What the data are for, where it is not the run's own task: chooses the folder in XTREME's layout. The
            labels are the run's all the same.
        split: `train`, `dev` or `test`.
        languages: Languages wanted; default: all there are. For a single file: its language.
        format: Format of the files; default: detected, see `data.reading.Reading`.
        word_column: Column of the words; default: detected.
        tag_column: Column of the tags; default: detected.
        limit: Take only so many sentences or texts from the start of each language.
        language_adapters: For a run of the tuning `stack`: folders of language adapters, by language; the source's
            serves the others.
        precision: See `load_fast`.
        compile: See `load_fast`.
        options: See `load_run`.
        progress: Called after each batch.

    Returns:
        The predictions.

    Raises:
        RunError: If the folder is no complete run, or a word is left without a prediction.
        ConfigError: If an option has a value that cannot work.
        DataError: If the data cannot be read or do not fit the run.
    """
    run = run if isinstance(run, Run) else read_run(run)
    known = _task(run, task)
    options_of_run(run, kind_of_task(known), options)
    # Labels that the model does not have are counted by the report, in what is scored and not in all of the file.
    loaded = load_source(
        source, known, split, languages, format, warn_unknown=False, word_column=word_column, tag_column=tag_column
    )
    sources = source_languages(run)
    items, without_words = items_by_language(loaded, limit)
    check_fit(items, known, loaded.source)
    adapters = language_adapters or {}
    about = {
        "run": {
            "folder": str(run.folder),
            "sha256": sha256_of(run.folder / "run.json"),
            "encoder": run.config["encoder"]["name"],
            "head": run.config["head"],
            "picked_on": run.config.get("training", {}).get("picked_on"),
            "precision": precision,
            **({"options": dict(options)} if options else {}),
            **describe_adapters(run, adapters, [language.language for language in items]),
        },
        "data": {
            "source": loaded.source,
            "split": split,
            "limit": limit,
            "read": loaded.taken,
            "dropped": {**loaded.dropped, **({"no_words": without_words} if without_words else {})},
            "remarks": loaded.remarks(),
            "warnings": [problem.message for problem in loaded.problems],
        },
        "versions": versions(),
    }
    model = load_fast(run, precision=precision, compile=compile, options=options)
    switch = LanguageSwitch(model, adapters)
    predicted = predict(model, items, progress, switch)
    return Predictions(name=str(run.folder), task=known, source_languages=sources, languages=predicted, about=about)


def items_by_language(loaded: Loaded, limit: int | None = None) -> tuple[list[Items], int]:
    """The items of each language, in the order of the data.

    Args:
        loaded: Data.
        limit: Take only so many from the start of each language.

    Returns:
        The items, and how many sentences without words were left out.

    Raises:
        ConfigError: If the limit is smaller than one.
        DataError: If some items are pairs and some are not.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"expected a limit of at least 1, got {limit}.")
    columns = {name: list(loaded.dataset[name]) for name in loaded.dataset.column_names}
    kind = kind_named(loaded.kind)
    inputs, gold = kind.inputs(columns), kind.gold(columns)
    rows: dict[str, list[int]] = {}
    without_words = 0
    for i, language in enumerate(columns["language"]):
        if kind.is_empty(inputs[i]):
            without_words += 1
        else:
            rows.setdefault(language, []).append(i)
    if not rows:
        raise DataError(f"{loaded.source}: expected sentences, but none has a word")
    flawed = columns.get("placeholder", [False] * len(gold))
    items = [
        Items(
            language=language,
            kind=loaded.kind,
            own_ids=language in loaded.own_ids,
            **{
                name: [values[i] for i in numbers[:limit]]
                for name, values in (
                    ("ids", columns["id"]),
                    ("inputs", inputs),
                    ("gold", gold),
                    ("placeholder", flawed),
                )
            },
        )
        for language, numbers in rows.items()
    ]
    return items, without_words


def check_fit(items: Sequence[Items], task: Task, source: str) -> None:
    """Checks that data are for a task, before a model is loaded.

    Raises:
        DataError: If the kinds differ, tags are not entity tags where spans are counted, single texts come where pairs
            are expected or both are mixed, or the model knows none of the labels.
    """
    for language in items:
        if language.kind != task.kind:
            raise DataError(
                f"{source}: expected data for {task.name}, a {task.kind} task, but this is {language.kind} data"
            )
    kind_of_task(task).check_fit(items, task, source)
    there = {label for language in items for label in language.gold_labels(task.labels)}
    if not there & set(task.labels):
        raise DataError(
            f"{source}: the model knows none of the labels in these data ({', '.join(sorted(there)[:5])}); it knows "
            f"{', '.join(task.labels[:5])}{', ...' if len(task.labels) > 5 else ''}. Are they data for another task?"
        )


def predict(
    model: Predictor,
    items: Sequence[Items],
    progress: Progress | None = None,
    on_language: Callable[[str], None] | None = None,
) -> list[Predicted]:
    """Let a model predict the items of each language.

    Args:
        model: A tagger or classifier, by the kind of the items.
        items: Items by language.
        progress: Called after each batch.
        on_language: Called with each language before its items are predicted.

    Returns:
        The predictions, in the order of the items.

    Raises:
        RunError: If a word or item has no prediction.
    """
    total = sum(len(language.gold) for language in items)
    predictions = []
    for language in items:
        if on_language is not None:
            on_language(language.language)
        step = count_items(
            len(language.gold), total, lambda done, total: progress and progress("Predicting", done, total)
        )
        predicted, tokenizer_counts = model.answer(language.inputs, step)
        step(len(language.gold))
        logger.info("Predicted %s: %d items", language.language, len(language.gold))
        counts = {} if tokenizer_counts is None else asdict(tokenizer_counts)
        for total_name in ("words_total", "items_total"):
            counts.pop(total_name, None)
        predictions.append(Predicted(**vars(language), predicted=predicted, counts=counts))
    return predictions


def _task(run: Run, name: str | None) -> Task:
    """The run's task, or another of the same kind with the run's labels."""
    own = task_of(run)
    if name is None or name == own.name:
        return own
    requested = get_task(name)
    if requested is None:
        raise ConfigError(f"expected a task among {', '.join(TASKS)}, got {name!r}.")
    if (requested.kind, requested.metric) != (own.kind, own.metric):
        raise ConfigError(
            f"{name} is a {requested.kind} task scored by {requested.metric}, but the run {run.folder} was trained for "
            f"{own.name}, a {own.kind} task scored by {own.metric}."
        )
    return requested if requested.labels == own.labels else replace(requested, labels=own.labels)
