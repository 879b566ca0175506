"""From predictions to a report: scores, resamples, means; and `dlfa evaluate` as one function: predict, score, save."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import kind_of_task, scores_for
from dlfa_adapters.kinds.metric import unknown_labels
from dlfa_adapters.predict import Predicted, Predictions
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.scores.groups import family_of, groups
from dlfa_adapters.scores.intervals import Estimate
from dlfa_adapters.scores.report import LanguageReport, MeanReport, Report, Table
from dlfa_adapters.scores.resample import RESAMPLES, Scored, resample_scores
from dlfa_adapters.scores.saved import check_evaluation_place, default_folder, save_evaluation
from dlfa_adapters.scores.translations import Translations, find_translations
from dlfa_adapters.tasks import Task


def evaluate_run(
    run: str | Path | Run,
    source: str | Path | Iterable[Any],
    *,
    split: str = "test",
    languages: Iterable[str] | None = None,
    out: str | Path | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Let the model of a run predict all of some data, score every language, and save report and predictions.

    Args:
        run: A run folder.
        source: Data, as for `data.sources.load_source`.
        split: `train`, `dev` or `test`.
        languages: Languages wanted; default: all there are. For a single file: its language.
        out: Where to save; default: beside the run, by data and split. An earlier evaluation there is replaced.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        progress: Called after each batch and language.
        **options: Further arguments of `predict_run`.

    Returns:
        The report; `show.markdown` makes tables of it.

    Raises:
        RunError: If the folder is no complete run, or a word is left without a prediction.
        ConfigError: If an option has a value that cannot work, or something else is in the way of `out`.
        DataError: If the data cannot be read or do not fit the run.
    """
    run = run if isinstance(run, Run) else read_run(run)
    named = str(source) if isinstance(source, str | Path) else "items"
    folder = Path(out) if out is not None else default_folder(run.folder, named, split)
    check_evaluation_place(folder)
    predictions = predict_run(run, source, split=split, languages=languages, progress=progress, **options)
    report = build_report(predictions, resamples=resamples, seed=seed, progress=progress)
    save_evaluation(folder, predictions, report)
    return report


def build_report(
    predictions: Predictions, *, resamples: int = RESAMPLES, seed: int = 0, progress: Progress | None = None
) -> Report:
    """Score predictions.

    Args:
        predictions: The predictions of the model, by language.
        resamples: Bootstrap resamples.
        seed: Of the resampling; each language has random numbers of its own, but translations of each other are drawn
            together, see `translations.find_translations`.
        progress: Called after each language.

    Returns:
        The report.

    Raises:
        ConfigError: If `resamples` or `seed` is out of range.
        DataError: If tags are not of the kind that the task's metric counts.
    """
    task, languages = predictions.task, predictions.languages
    scores = scores_for(task)
    step = progress or (lambda stage, done, total: None)

    def table(part: Predictions, translations: Translations | None, stage: str) -> Table:
        counts = {x.language: [[score.counts(x.predicted, x.gold)] for score in scores] for x in part.languages}
        scored = resample_scores(counts, scores, translations, resamples, seed)
        return _table(part, [score.name for score in scores], scored, lambda: step(stage, 1, len(languages)))

    translations = find_translations(languages, task)
    without = None
    overall = table(predictions, translations, "Scoring")
    if any(any(language.placeholder) for language in languages):
        rest = [language.without_placeholders() for language in languages]
        real = replace(predictions, languages=rest)
        without = table(real, find_translations(rest, task), "Scoring without placeholder pairs")
    about = {"name": task.name, "kind": task.kind, "metric": task.metric}
    return Report(
        task={**about, "labels": list(task.labels), "parallel": task.parallel},
        titles={score.name: score.title for score in scores},
        source_languages=list(predictions.source_languages),
        resamples=resamples,
        seed=seed,
        about=predictions.about,
        drawn=None if translations is None else translations.drawn,
        table=overall,
        without_placeholders=without,
    )


def _table(
    predictions: Predictions, names: Sequence[str], scored: Mapping[str, Sequence[Scored]], done: Callable[[], None]
) -> Table:
    languages, sources, task = predictions.languages, predictions.source_languages, predictions.task
    split = groups([language.language for language in languages], sources, task.name)
    targets = next((group.languages for group in split if group.name == "targets"), ())
    rows, means = [], []
    for language in languages:
        estimates = [each.estimate() for each in scored[language.language]]
        is_source = bool(sources) and language.language not in targets
        rows.append(_language(language, task, dict(zip(names, estimates, strict=True)), is_source))
        done()
    for group in split:
        members = {name: [scored[language][i] for language in group.languages] for i, name in enumerate(names)}
        lacking = {
            name: [x for x, each in zip(group.languages, of_group, strict=True) if np.isnan(each.values[0])]
            for name, of_group in members.items()
        }
        means.append(
            MeanReport(
                name=group.name,
                title=group.title,
                languages=list(group.languages),
                scores={name: Scored.mean(of_group).estimate() for name, of_group in members.items()},
                undefined={name: without for name, without in lacking.items() if without},
            )
        )
    return Table(languages=rows, means=means)


def _language(language: Predicted, task: Task, estimates: dict[str, Estimate], is_source: bool) -> LanguageReport:
    kind, details = kind_of_task(task), {}
    for metric in kind.metrics(task):
        result = metric.compute(predictions=language.predicted, references=language.gold)
        result.pop("unknown_gold_labels", None)
        details[metric.main_score] = result
    family, branch = family_of(language.language) or (None, None)
    return LanguageReport(
        language=language.language,
        family=family,
        branch=branch,
        is_source=is_source,
        items=len(language.gold),
        words_total=language.total if kind.of_words else None,
        words_scored=sum(kind.sizes(language.predicted)) if kind.of_words else None,
        support=next(iter(details.values()))["support"],
        scores=estimates,
        counts=language.counts,
        unknown_gold_labels=unknown_labels(language.gold_labels(task.labels), task.labels),
        fingerprint=language.fingerprint(),
        details=details,
    )
