"""The plot of parallel sentences: cosines by layer, of translations and of other sentences, and of fused states."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlfa_adapters.analysis.parallel_report import ParallelReport
from dlfa_adapters.analysis.states import FUSED
from dlfa_adapters.ground.files import write_whole
from dlfa_adapters.ground.folders import check_writable
from dlfa_adapters.ground.packages import check_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_parallel(reports: Sequence[ParallelReport], path: str | Path) -> None:
    """Draw the cosines of one model or several into a file.

    Args:
        reports: One a model.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    path = Path(path)
    check_plot(Path(path))
    check_writable(Path(path))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
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
    axes.set_title(f"{reports[0].pairs:,} pairs of sentences; bands are 95 % bootstrap intervals", fontsize=9)
    axes.legend(fontsize=8)
    with write_whole(path) as draft:
        figure.savefig(draft, format=path.suffix[1:])
