"""From predictions to a report: scores, resamples, means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlfa_adapters.ground.running import Progress
from dlfa_adapters.predict.predictions import Predicted, Predictions
from dlfa_adapters.scores.families import family_of
from dlfa_adapters.scores.groups import groups
from dlfa_adapters.scores.intervals import RESAMPLES, interval
from dlfa_adapters.scores.items import CountedScore, mean_of_defined, scores_for
from dlfa_adapters.scores.metrics import metrics_for
from dlfa_adapters.scores.metrics.counts import unknown_labels
from dlfa_adapters.scores.report import Estimate, LanguageReport, MeanReport, Report, Table
from dlfa_adapters.scores.resampling import Sums, resample_languages
from dlfa_adapters.scores.translations import find_translations
from dlfa_adapters.tasks import Task


@dataclass(frozen=True)
class _Resampled:
    """A score and its resamples, NaN where it is not defined."""

    value: float
    samples: np.ndarray

    def estimate(self) -> Estimate:
        if np.isnan(self.value):
            return Estimate(None, None, None)
        return Estimate(self.value, *interval(self.samples))


def build_report(
    predictions: Predictions, *, resamples: int = RESAMPLES, seed: int = 0, progress: Progress | None = None
) -> Report:
    """Score predictions.

    Args:
        predictions: What the model said, by language.
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
    task, sources = predictions.task, predictions.source_languages
    scores = scores_for(task)
    step = progress or (lambda stage, done, total: None)
    flawed = [language for language in predictions.languages if any(language.placeholder)]

    def table(languages: Sequence[Predicted], stage: str) -> Table:
        return _table(languages, task, scores, sources, resamples, seed, lambda: step(stage, 1, len(languages)))

    kept = [language.without_placeholders() for language in predictions.languages]
    translations = find_translations(predictions.languages, task)
    return Report(
        task={
            "name": task.name,
            "kind": task.kind,
            "metric": task.metric,
            "labels": list(task.labels),
            "parallel": task.parallel,
        },
        titles={score.name: score.title for score in scores},
        source_languages=list(sources),
        resamples=resamples,
        seed=seed,
        about=predictions.about,
        drawn=None if translations is None else translations.drawn,
        table=table(predictions.languages, "Scoring"),
        without_placeholders=table(kept, "Scoring without placeholder pairs") if flawed else None,
    )


def _table(
    languages: Sequence[Predicted],
    task: Task,
    scores: Sequence[CountedScore],
    sources: Sequence[str],
    resamples: int,
    seed: int,
    done: Callable[[], None],
) -> Table:
    split = groups([language.language for language in languages], sources, task.name)
    targets = next((group.languages for group in split if group.name == "targets"), None)
    counts = {x.language: [score.counts(x.predicted, x.gold) for score in scores] for x in languages}
    sums = resample_languages(
        {name: np.concatenate(parts, axis=1) for name, parts in counts.items()},
        find_translations(languages, task),
        resamples,
        seed,
    )
    rows, resampled = [], {}
    for language in languages:
        found = _resampled(counts[language.language], sums[language.language], scores)
        resampled[language.language] = found
        is_source = bool(sources) and language.language not in (targets or ())
        rows.append(_language(language, task, found, is_source))
        done()
    means = []
    for group in split:
        members = [resampled[language] for language in group.languages]
        means.append(
            MeanReport(
                name=group.name,
                title=group.title,
                languages=list(group.languages),
                scores={s.name: _mean([member[s.name] for member in members]).estimate() for s in scores},
                undefined={
                    s.name: without
                    for s in scores
                    if (without := [x for x in group.languages if np.isnan(resampled[x][s.name].value)])
                },
            )
        )
    return Table(languages=rows, means=means)


def _resampled(counts: Sequence[np.ndarray], sums: Sums, scores: Sequence[CountedScore]) -> dict[str, _Resampled]:
    """Every score of a language, all on the same resamples."""
    parts = np.split(sums.values, np.cumsum([part.shape[1] for part in counts])[:-1], axis=1)
    return {
        score.name: _Resampled(float(score.score(part.sum(axis=0))), sums.again(score.score(samples)))
        for score, part, samples in zip(scores, counts, parts, strict=True)
    }


def _mean(members: Sequence[_Resampled]) -> _Resampled:
    """The mean over languages; those without a score are left out."""
    defined = [member for member in members if not np.isnan(member.value)]
    if not defined:
        return _Resampled(np.nan, np.empty(0))
    samples = mean_of_defined(np.stack([member.samples for member in defined], axis=-1))
    return _Resampled(float(np.mean([member.value for member in defined])), samples)


def _language(language: Predicted, task: Task, found: dict[str, _Resampled], is_source: bool) -> LanguageReport:
    details = {}
    for metric in metrics_for(task):
        result = metric.compute(predictions=language.predicted, references=language.gold)
        result.pop("unknown_gold_labels", None)
        details[metric.main_score] = result
    estimates = {name: score.estimate() for name, score in found.items()}
    if len(language.gold) < 2:
        estimates = {name: replace(estimate, low=None, high=None) for name, estimate in estimates.items()}
    tagging = language.kind == "tagging"
    family, branch = family_of(language.language) or (None, None)
    return LanguageReport(
        language=language.language,
        family=family,
        branch=branch,
        is_source=is_source,
        items=len(language.gold),
        words_total=language.total if tagging else None,
        words_scored=sum(map(len, language.predicted)) if tagging else None,
        support=next(iter(details.values()))["support"],
        scores=estimates,
        counts=language.counts,
        unknown_gold_labels=unknown_labels(language.gold_labels, task.labels),
        fingerprint=language.fingerprint(),
        details=details,
    )
