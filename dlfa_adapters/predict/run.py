"""Evaluating a run: read the data, check that they fit, predict every language, count what happened."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.encoders.states import Change, applied
from dlfa_adapters.ground.environment import Progress, count_items, versions
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Predictor
from dlfa_adapters.predict import Items, Predicted, Predictions
from dlfa_adapters.predict.centred import check_centred
from dlfa_adapters.predict.forms import make_fast
from dlfa_adapters.predict.items import check_fit, items_by_language
from dlfa_adapters.predict.languages import LanguageSwitch, describe_adapters
from dlfa_adapters.predict.load import check_precision, load_run, source_languages, task_of
from dlfa_adapters.predict.options import options_of_run
from dlfa_adapters.predict.shift import Shifts
from dlfa_adapters.predict.shift_option import SPLITS, check_shift
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
    shift: str | None = None,
    shift_parallel: Mapping[str, str | Path] | None = None,
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
        shift: `FILE@LAYER:ALPHA`: move the states of each language but the source by alpha times the mean difference,
            of the means in a file; see `shift_option.ShiftOption` for words in the place of alpha.
        shift_parallel: For the word `parallel`: by language a file of sentences in the source language, TAB, and their
            translations.
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
    parallel = shift_parallel or {}
    option = check_shift(run, shift, source, split, parallel, compile=compile)

    def read(split: str, languages: Iterable[str] | None) -> tuple[list[Items], int, Loaded]:
        # Labels that the model does not have are counted by the report, in what is scored and not in all of the file.
        loaded = load_source(
            source, known, split, languages, format, warn_unknown=False, word_column=word_column, tag_column=tag_column
        )
        items, without_words = items_by_language(loaded, limit)
        check_fit(items, known, loaded.source)
        return items, without_words, loaded

    items, without_words, loaded = read(split, languages)
    names = [language.language for language in items]
    check_centred(run, names)
    picking = {each.language: each for each in items}
    if option is not None:
        option.check_languages(run, names, parallel)
        if option.picked in SPLITS and (targets := [name for name in names if name != option.towards(run)]):
            picking = {each.language: each for each in read(option.picked, targets)[0]}
    adapters = language_adapters or {}
    about = {
        "run": {
            "folder": str(run.folder),
            "sha256": sha256_of(run.folder / "run.json"),
            "encoder": run.config["encoder"]["name"],
            "head": run.config["head"],
            "picked_on": run.config.get("training", {}).get("picked_on"),
            "precision": precision,
            **({"center": run.config["center"]} if "center" in run.config else {}),
            **({"options": dict(options)} if options else {}),
            **describe_adapters(run, adapters, names),
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
    check_precision(precision)
    model = load_run(run, options=options)
    switch, changes = LanguageSwitch(model, adapters), None
    if option is not None:
        shifts = Shifts(option, LanguageMeans.read(option.means), option.towards(run))
        shifts.check_model(model.model, names, switch)
    model = make_fast(run, model, precision=precision, compile=compile)
    if option is not None:
        shifts.pick(model, known, picking, switch, parallel, progress or (lambda stage, done, total: None))
        about["run"]["shift"], changes = shifts.describe(), shifts.of
    predicted = predict(model, items, progress, switch, changes)
    sources = source_languages(run)
    return Predictions(name=str(run.folder), task=known, source_languages=sources, languages=predicted, about=about)


def predict(
    model: Predictor,
    items: Sequence[Items],
    progress: Progress | None = None,
    on_language: Callable[[str], None] | None = None,
    changes: Callable[[str], Sequence[Change]] | None = None,
) -> list[Predicted]:
    """Let a model predict the items of each language.

    Args:
        model: A tagger or classifier, by the kind of the items.
        items: Items by language.
        progress: Called after each batch.
        on_language: Called with each language before its items are predicted.
        changes: Gives what states of a language are changed by.

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
        with applied(changes(language.language), encoder_of(model.model)) if changes else nullcontext():
            predicted, tokenizer_counts = model.answer(language.inputs, step)
        step(len(language.gold))
        logger.info("Predicted %s: %d items", language.language, len(language.gold))
        every = {} if tokenizer_counts is None else asdict(tokenizer_counts)
        counts = {name: count for name, count in every.items() if name not in ("words_total", "items_total")}
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
