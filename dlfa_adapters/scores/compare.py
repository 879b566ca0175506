"""Two models on the same sentences: differences with paired intervals and p-values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import scores_for
from dlfa_adapters.predict import Predictions
from dlfa_adapters.scores.groups import Group, groups
from dlfa_adapters.scores.intervals import LEVEL, Difference, Paired, paired_differences
from dlfa_adapters.scores.report import FORMAT
from dlfa_adapters.scores.resample import RESAMPLES, resample_scores
from dlfa_adapters.scores.translations import Drawn, find_translations


@dataclass(frozen=True)
class DifferenceRow:
    """The differences of one language, or the mean over a group of them.

    Attributes:
        name: The language, or the name of the group.
        title: What it is called in a table.
        languages: The language, or those of the group.
        items: Sentences or texts, of all these languages.
        scores: Difference by score.
    """

    name: str
    title: str
    languages: list[str]
    items: int
    scores: dict[str, Difference]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Model B against model A.

    Attributes:
        a: Name of A.
        b: Name of B.
        titles: Name -> title of every score, the main one first.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        about_a: What is known of A and its data.
        about_b: What is known of B and its data.
        languages: A row a language.
        means: A row a group.
        models: How many models were compared with A at once.
        drawn: How languages are drawn in a resample; None for a single one.
    """

    a: str
    b: str
    titles: dict[str, str]
    resamples: int
    seed: int
    about_a: dict[str, Any]
    about_b: dict[str, Any]
    languages: list[DifferenceRow]
    means: list[DifferenceRow]
    models: int = 1
    drawn: Drawn | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; no NaN."""
        fields = asdict(self)
        interval = {"level": LEVEL, "method": "paired percentile bootstrap over items",
                    "resamples": fields.pop("resamples"), "seed": fields.pop("seed"),
                    "languages": fields.pop("drawn")}  # fmt: skip
        return {"format": FORMAT, "scores": fields.pop("titles"), "interval": interval, **fields}


def compare(
    a: Predictions,
    b: Predictions,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two models on the same data.

    In each resample the same sentences are drawn for both, so that what makes a sentence hard cancels out. The mean
    over languages resamples each language on its own; but translations of each other are drawn together.

    Args:
        a: Predictions of the one model.
        b: Predictions of the other.
        resamples: Bootstrap resamples.
        seed: Of the resampling; each language has random numbers of its own.
        progress: Called after each language.

    Returns:
        B minus A.

    Raises:
        ConfigError: If the two have different scores, or `resamples` or `seed` is out of range.
        DataError: If the two were not evaluated on the same words, texts and gold labels.
    """
    return compare_all([a, b], resamples=resamples, seed=seed, progress=progress)[0]


def compare_all(
    models: Sequence[Predictions], *, resamples: int = RESAMPLES, seed: int = 0, progress: Progress | None = None
) -> list[Comparison]:
    """Compare several models with the first one, on the same data and the same resamples.

    The adjusted p-values and simultaneous intervals are for all the models at once: those of a mean for each group of
    languages, those of languages for all languages too.

    Args:
        models: Predictions, two or more; the first are those of A.
        resamples: See `compare`.
        seed: See `compare`.
        progress: See `compare`.

    Returns:
        For each of the others, it minus A.

    Raises:
        ConfigError: If there are fewer than two; and see `compare`.
        DataError: See `compare`.
    """
    if len(models) < 2:
        raise ConfigError(f"expected at least two models to compare, got {len(models)}.")
    first, *others = models
    scores = scores_for(first.task)
    for other in others:
        _check_same_scores(first, other)
        check_same_data(first, other)
    translated = [find_translations(model.languages, model.task) for model in models]
    translations = next((x for x in translated if x is not None and x.drawn.together), translated[0])
    by_model = [{each.language: each for each in model.languages} for model in models]
    counts = {
        language: [[score.counts(x[language].predicted, x[language].gold) for x in by_model] for score in scores]
        for language in by_model[0]
    }
    scored = resample_scores(counts, scores, translations, resamples, seed)
    sizes = {each.language: len(each.gold) for each in first.languages}
    paired = {
        score.name: {x: [each[i].pair(0, j) for j in range(1, len(models))] for x, each in scored.items()}
        for i, score in enumerate(scores)
    }
    if progress is not None:
        progress("Comparing", len(sizes), len(sizes))
    sources = list(dict.fromkeys(source for model in models for source in model.source_languages))
    each_language = [Group(language, language, (language,)) for language in sizes]
    languages = _rows(each_language, sizes, paired)
    means = [_rows([group], sizes, paired) for group in groups(list(sizes), sources, first.task.name)]
    return [
        Comparison(
            a=first.name,
            b=other.name,
            titles={score.name: score.title for score in scores},
            resamples=resamples,
            seed=seed,
            about_a=first.about,
            about_b=other.about,
            languages=languages[number],
            means=[rows[number][0] for rows in means],
            models=len(others),
            drawn=None if translations is None else translations.drawn,
        )
        for number, other in enumerate(others)
    ]


def _rows(
    split: Sequence[Group], sizes: Mapping[str, int], paired: Mapping[str, Mapping[str, Sequence[Paired]]]
) -> list[list[DifferenceRow]]:
    """For each model a row a group; what the rows hold is tested at once, for each score."""
    models = range(len(next(iter(next(iter(paired.values())).values()))))
    by_score = {
        score: iter(
            paired_differences([Paired.mean([of[x][i] for x in group.languages]) for i in models for group in split])
        )
        for score, of in paired.items()
    }
    return [
        [
            DifferenceRow(
                name=group.name,
                title=group.title,
                languages=list(group.languages),
                items=sum(sizes[language] for language in group.languages),
                scores={score: next(each) for score, each in by_score.items()},
            )
            for group in split
        ]
        for _ in models
    ]


def _check_same_scores(a: Predictions, b: Predictions) -> None:
    if [s.name for s in scores_for(a.task)] != [s.name for s in scores_for(b.task)]:
        raise ConfigError(
            f"expected two models for one kind of task, got {a.name} for {a.task.name} ({a.task.metric}) and {b.name} "
            f"for {b.task.name} ({b.task.metric})."
        )


def check_same_data(a: Predictions, b: Predictions) -> None:
    """Checks by fingerprint that two models have the same inputs.

    Raises:
        DataError: If languages, inputs or gold labels differ.
    """
    in_a, in_b = ({x.language: x.fingerprint() for x in each.languages} for each in (a, b))
    if in_a == in_b:
        return
    differ = [x for x in dict.fromkeys([*in_a, *in_b]) if in_a.get(x) != in_b.get(x)]
    lines = ", ".join(f"{x} ({in_a.get(x, 'none')} and {in_b.get(x, 'none')})" for x in differ[:5])
    more = f" and {len(differ) - 5} more languages" if len(differ) > 5 else ""
    raise DataError(
        f"expected both to be evaluated on the same data, but {a.name} and {b.name} differ in the fingerprints of "
        f"{lines}{more}; evaluate both with the same --data, --split, --languages and --limit."
    )
