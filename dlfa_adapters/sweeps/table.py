"""The table of a sweep: means over languages and seeds, spread over seeds, differences with bootstrap intervals."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from dlfa_adapters.ground.errors import check_format, told_if_damaged
from dlfa_adapters.kinds import scores_for
from dlfa_adapters.learning.rate_choice import UNKNOWN, RateChoice
from dlfa_adapters.scores.groups import Group, groups
from dlfa_adapters.scores.intervals import Difference, Estimate, paired_differences
from dlfa_adapters.scores.resample import RESAMPLES, Scored, resample_scores
from dlfa_adapters.scores.translations import EARLIER, Drawn
from dlfa_adapters.sweeps.trainings import SweepResult
from dlfa_adapters.sweeps.variants import BASELINE

FORMAT = 1
RESULT = "sweep.json"
_NOT_ABOUT = ("format", "table", "heads", "best", "task", "metric", "num_layers", "sources", "tuning")
_SCORES = ("dev", "dev_spread", "means", "spread", "languages", "against")


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """A variant: its seeds together; scores are fractions.

    Attributes:
        name: Its name.
        seeds: How many there are.
        rates: The learning rates, chosen on source dev, and what they were chosen from.
        epoch: The mean of the chosen epochs.
        dev: The mean source dev score.
        dev_spread: Its standard deviation over seeds; None for a single one.
        means: By group of languages, the mean over seeds of the mean over languages, with its interval.
        spread: By group, the standard deviation over seeds of the mean over languages.
        languages: By language, the mean over seeds, with its interval.
        against: By group and the name of another variant, this one minus the other.
    """

    name: str
    seeds: int
    rates: RateChoice
    epoch: float
    dev: float
    dev_spread: float | None
    means: dict[str, Estimate]
    spread: dict[str, float | None]
    languages: dict[str, Estimate]
    against: dict[str, dict[str, Difference]]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values, in percent."""
        fields = asdict(self)
        scores = {name: _in_unit(fields[name], lambda value: 100 * value) for name in _SCORES}
        return {**fields, **scores, "rates": self.rates.to_dict()}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "TableLine":
        """What `to_dict` made the values of, here or in an earlier version."""
        fields = {**told, **{name: _in_unit(told[name], lambda value: value / 100) for name in _SCORES}}
        fields["rates"] = RateChoice.from_dict(told["rates"]) if "rates" in told else UNKNOWN
        for name in ("means", "languages"):
            fields[name] = {place: Estimate(**each) for place, each in fields[name].items()}
        fields["against"] = {
            group: {name: Difference(**each) for name, each in of.items()} for group, of in fields["against"].items()
        }
        return cls(**fields)


def _in_unit(value: Any, unit: Callable[[float], float]) -> Any:
    """Every number in a value of JSON in another unit; p-values have none."""
    if isinstance(value, dict):
        return {key: each if key in ("p_value", "adjusted_p") else _in_unit(each, unit) for key, each in value.items()}
    return None if value is None else unit(value)


@dataclass(frozen=True, kw_only=True)
class SweepTable:
    """The table of a sweep.

    Attributes:
        title: What the scores are.
        groups: Groups of languages by name; the first is the one to look at.
        compared: Names of the baseline and the control.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        lines: A line a variant.
        drawn: How languages are drawn in a resample; None for a single one.
    """

    title: str
    groups: dict[str, Group]
    compared: list[str]
    resamples: int
    seed: int
    lines: list[TableLine]
    drawn: Drawn | None = None

    @property
    def group(self) -> Group:
        """The group to look at."""
        return next(iter(self.groups.values()))

    def line(self, name: str) -> TableLine:
        """The line of a variant."""
        return next(line for line in self.lines if line.name == name)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values, in percent; no NaN."""
        return {**asdict(replace(self, lines=[])), "lines": [line.to_dict() for line in self.lines]}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "SweepTable":
        """The table that `to_dict` made the values of, here or in an earlier version.

        Raises:
            KeyError: If one is missing.
            TypeError: If one is of another kind.
        """
        lines = [TableLine.from_dict(line) for line in told["lines"]]
        split = {name: Group(x["name"], x["title"], tuple(x["languages"])) for name, x in told["groups"].items()}
        drawn = Drawn.from_dict(told["drawn"]) if "drawn" in told else EARLIER
        return cls(**{**told, "groups": split, "lines": lines, "drawn": drawn if len(lines[0].languages) > 1 else None})


@dataclass(frozen=True, kw_only=True)
class SavedSweep:
    """What the file of a sweep holds beside its trainings.

    Attributes:
        task: Name of the task.
        tuning: What learnt beside the heads.
        sources: Languages trained on.
        best: The variant that is best on source dev.
        table: The table.
        about: Encoder, data, settings, versions, seconds.
    """

    task: str
    tuning: str
    sources: list[str]
    best: TableLine
    table: SweepTable
    about: dict[str, Any]


def sweep_file(source: str | Path) -> Path | None:
    """The `sweep.json` that a source is or holds, if any."""
    file = Path(source) if Path(source).name == RESULT else Path(source) / RESULT
    return file if file.is_file() else None


def read_sweep(file: Path) -> SavedSweep:
    """Read a `sweep.json`.

    Raises:
        RunError: If it is damaged, or of a newer version.
    """
    with told_if_damaged(file, "call dlfa sweep again"):
        record = json.loads(file.read_text("utf-8"))
        check_format(file, "sweep", record["format"], FORMAT)
        table = SweepTable.from_dict(record["table"])
        return SavedSweep(
            task=record["task"]["name"],
            tuning=record["tuning"],
            sources=list(record["sources"]),
            best=table.line(record["best"]["name"]),
            table=table,
            about={name: value for name, value in record.items() if name not in _NOT_ABOUT},
        )


def make_table(result: SweepResult, *, resamples: int = RESAMPLES, seed: int = 0) -> SweepTable:
    """Compare all variants of a sweep.

    Each resample draws the items of a language anew, the same for all variants and seeds, so that what makes an item
    hard cancels out in differences; translations of each other are drawn together in all languages. A score is the mean
    over seeds. So intervals say how far the score depends on which items were scored, for the seeds that were trained;
    how far it depends on the seed, says the spread.
    Differences have intervals and p-values for themselves, and for all variants that are held against the same one at
    once, see `scores.intervals.simultaneous`.

    Args:
        result: The sweep.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
    """
    score, variants = scores_for(result.task)[0], result.variants()
    names = list(variants)
    counts = {language: [[row.counts[language] for row in result.rows]] for language in result.languages}
    resampled = resample_scores(counts, [score], result.translations, resamples, seed)
    rows = {language: scored for language, [scored] in resampled.items()}
    split = groups(result.languages, list(result.sources), result.task.name)
    means = {group.name: Scored.mean([rows[x] for x in group.languages]) for group in split}
    seeds = [[i for i, row in enumerate(result.rows) if row.spec.name == name] for name in names]
    languages = {language: scored.over(seeds) for language, scored in rows.items()}
    grouped = {group: scored.over(seeds) for group, scored in means.items()}
    compared = [name for name in (BASELINE, result.control) if name in variants]
    against = {group: {other: _against(mean, names, other) for other in compared} for group, mean in grouped.items()}
    lines = [
        TableLine(
            name=name,
            seeds=len(trained),
            rates=trained[0].rates,
            epoch=fmean(row.epoch for row in trained),
            dev=fmean(row.dev_score for row in trained) / 100,
            dev_spread=_spread([row.dev_score / 100 for row in trained]),
            means={group: scored.estimate(i) for group, scored in grouped.items()},
            spread={group: _spread(list(scored.values[seeds[i]])) for group, scored in means.items()},
            languages={language: scored.estimate(i) for language, scored in languages.items()},
            against={
                group: {other: by_name[name] for other, by_name in of.items() if other != name}
                for group, of in against.items()
            },
        )
        for i, (name, trained) in enumerate(variants.items())
    ]
    return SweepTable(
        title=score.title,
        groups={group.name: group for group in split},
        compared=compared,
        resamples=resamples,
        seed=seed,
        lines=lines,
        drawn=None if result.translations is None else result.translations.drawn,
    )


def _against(scored: Scored, names: Sequence[str], other: str) -> dict[str, Difference]:
    """All variants but one minus that one, each alone and all at once."""
    rest = [name for name in names if name != other]
    pairs = [scored.pair(names.index(other), names.index(name)) for name in rest]
    return dict(zip(rest, paired_differences(pairs), strict=True))


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 and not np.isnan(values).any() else None
