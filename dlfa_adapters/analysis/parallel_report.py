"""What was measured on parallel sentences: measures with intervals, differences between states, tables, a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlfa_adapters.analysis.states import FUSED
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores import intervals
from dlfa_adapters.scores.intervals import Difference, Estimate, Paired, few_items
from dlfa_adapters.scores.show import INTERVAL, TextTable, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("cosine", "others", "gap", "centred", "forward", "backward", "retrieval")
"""`cosine`: of sentence and translation; `others`: of a sentence and the translations of the other sentences; `gap`:
the first minus the second; `centred`: the first again, when the mean of all sentences of each side has been taken off;
`forward`: whether the nearest translation of a sentence is its own; `backward`: the same from the translations;
`retrieval`: the mean of the two."""


@dataclass(frozen=True)
class StateReport:
    """How alike parallel sentences are in one kind of state.

    Attributes:
        state: `0`..`L` or `fused`.
        scores: Every measure of `MEASURES` with its interval.
        samples: The same of each resample, (resamples, measures).
        draws: Which resamples; states with the same can be compared.
    """

    state: str
    scores: dict[str, Estimate]
    samples: np.ndarray = field(repr=False)
    draws: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the resamples."""
        return {"state": self.state, "scores": {name: asdict(score) for name, score in self.scores.items()}}


@dataclass(frozen=True, kw_only=True)
class ParallelReport:
    """How alike parallel sentences are in the states of one model.

    Attributes:
        name: The run folder, or the encoder.
        fusion: What makes the fused state, such as `dlfa of layer 7`; None for an encoder alone.
        pairs: How many pairs of sentences.
        layers: The layers 0..L.
        fused: The fused state; None for an encoder alone.
    """

    name: str
    fusion: str | None
    pairs: int
    layers: list[StateReport]
    fused: StateReport | None

    @property
    def final(self) -> StateReport:
        """What a classifier reads: the fused state, or the last layer."""
        return self.fused or self.layers[-1]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        states = [state.to_dict() for state in (*self.layers, self.fused) if state is not None]
        return {"name": self.name, "fusion": self.fusion, "pairs": self.pairs, "states": states}


def state_report(state: str, values: np.ndarray, samples: np.ndarray, draws: str) -> StateReport:
    """The report of a state from the means over pairs, (measures,), and those of each resample."""
    scores = {name: Estimate.of(value, drawn) for name, value, drawn in zip(MEASURES, values, samples.T, strict=True)}
    return StateReport(state, scores, samples, draws)


def differences(a: StateReport, b: StateReport) -> dict[str, Difference]:
    """B minus A in every measure, with paired intervals: both states of the same resampled pairs.

    Raises:
        ConfigError: If they were measured on other pairs, or with other resamples.
    """
    if a.draws != b.draws:
        raise ConfigError(f"expected states of the same pairs and resamples, got {a.draws} and {b.draws}.")
    by_measure = {}
    for name, drawn in zip(MEASURES, (b.samples - a.samples).T, strict=True):
        of_a, of_b = (report.scores[name].value or 0.0 for report in (a, b))
        [by_measure[name]] = intervals.paired_differences([Paired(of_a, of_b, drawn)])
    return by_measure


def all_differences(reports: Sequence[ParallelReport]) -> list[tuple[str, str, dict[str, Difference]]]:
    """Fused states against the last layer of their model, and what classifiers read against that of the first model.

    Returns:
        The names of the two states, and B minus A.
    """
    compared = [
        (f"{report.name}, last layer", f"{report.name}, fused", differences(report.layers[-1], report.fused))
        for report in reports
        if report.fused is not None and report.fusion != "last"
    ]
    names = [f"{report.name}, {'fused' if report.fused else 'last layer'}" for report in reports]
    for report, name in zip(reports[1:], names[1:], strict=True):
        compared.append((names[0], name, differences(reports[0].final, report.final)))
    return compared


def parallel_tables(
    reports: Sequence[ParallelReport], compared: Sequence[tuple[str, str, Mapping[str, Difference]]]
) -> list[TextTable]:
    """A table a model, its states by row, and one of the differences."""
    header = ["layer", "cosine", INTERVAL, "others", "gap", INTERVAL, "centred", INTERVAL, "forward", "backward"]
    shown = []
    for report in reports:
        rows = []
        for state in (*report.layers, *filter(None, [report.fused])):
            scores = state.scores
            cosine, gap, centred = (
                [f"{x.value:.3f}", f"[{x.low:.3f}, {x.high:.3f}]"]
                for x in map(scores.__getitem__, ("cosine", "gap", "centred"))
            )
            nearest = [percent(scores[name].value) for name in ("forward", "backward")]
            rows.append([state.state, *cosine, f"{scores['others'].value:.3f}", *gap, *centred, *nearest])
        fusion = f" ({report.fusion})" if report.fusion else ""
        shown.append(TextTable(header, rows, f"{report.name}{fusion}: {report.pairs:,} pairs"))
    rows = [
        [f"{b} − {a}" if name == "cosine" else "", name, *_difference(by_measure[name], name)]
        for a, b, by_measure in compared
        for name in ("cosine", "gap", "centred", "retrieval")
    ]
    header = ["", "", "difference", INTERVAL, "p"]
    return [*shown, *([TextTable(header, rows, "Differences, with paired intervals")] if rows else [])]


def parallel_notes(reports: Sequence[ParallelReport]) -> list[str]:
    """What a reader of the tables has to know."""
    pairs = reports[0].pairs
    return [
        "cosine: of a sentence and its translation; others: of a sentence and the other translations; gap: the "
        "difference; centred: the cosine when the mean of each side has been taken off. "
        f"forward, backward: how often the nearest of {pairs:,} is the translation, in %.",
        *few_items([("the text", pairs)]),
    ]


def _difference(estimate: Difference, measure: str) -> list[str]:
    """Retrieval in points, which are percent."""
    digits, scale = (1, 100) if measure == "retrieval" else (3, 1)
    value, low, high = (f"{scale * (x or 0.0):+.{digits}f}" for x in (estimate.difference, estimate.low, estimate.high))
    return [value, f"[{low}, {high}]", f"{estimate.p_value:.3f}"]


def plot_parallel(reports: Sequence[ParallelReport], path: str | Path) -> None:
    """Draw the cosines of one model or several into a file.

    Args:
        reports: One a model.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (7.5, 4.5)) as figure:
        axes: Axes = figure.subplots()
        deepest = max(len(report.layers) for report in reports)
        for number, report in enumerate(reports):
            colour = f"C{number}"
            for measure, style, what in (("cosine", "-", "translations"), ("others", "--", "other sentences")):
                scores = [layer.scores[measure] for layer in report.layers]
                axes.plot([score.value or 0.0 for score in scores], style, color=colour, label=f"{report.name}: {what}")
                low, high = ([getattr(score, end) for score in scores] for end in ("low", "high"))
                axes.fill_between(range(len(scores)), low, high, color=colour, alpha=0.15, lw=0)
                if report.fused is not None:
                    fill = colour if measure == "cosine" else "white"
                    place, score = deepest + 0.25 * number, report.fused.scores[measure]
                    axes.plot(place, score.value or 0.0, "o", color=colour, mfc=fill)
                    axes.vlines(place, score.low or 0.0, score.high or 0.0, color=colour, lw=1)
        fused = any(report.fused is not None for report in reports)
        axes.set_xticks(range(deepest + fused), [*map(str, range(deepest)), *[FUSED] * fused])
        axes.set(xlabel="layer", ylabel="mean cosine")
        axes.set_title(f"{reports[0].pairs:,} pairs of sentences; bands are {INTERVAL} bootstrap intervals", fontsize=9)
        axes.legend(fontsize=8)
