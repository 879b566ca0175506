"""Scores by language of several ways of learning against those of one of them: a table, and a heat map.

That is Figure 1 of Wu and Dredze 2019, "Beto, Bentz, Becas", arXiv 1904.09077: a panel for each task, a row for each
way, a column for each language in the order of its score with everything fine-tuned; a cell shows a score, its colour
the difference to fine-tuning, and triangles mark what lies below the scale of the colours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dlfa_adapters.analysis.correlation import pearson
from dlfa_adapters.analysis.transfer_scores import Scores
from dlfa_adapters.data.languages import main_code
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.show import TextTable, in_form

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

BELOW = "▼"


@dataclass(frozen=True, kw_only=True)
class Gains:
    """What one way of learning gains over another.

    Attributes:
        name: What the way is called.
        scores: Language -> its score.
        gains: Language -> its score minus the other's, in points.
        targets: The languages that are no source, in the order of the other's score, the best one first.
        r: Pearson's r over targets between gain and the other's score: below 0 where weak languages gain most, though
            chance in the other's scores alone makes it so too. None with fewer than three targets, or where one of the
            two is the same in all.
        p_value: Two-sided, of "there is no correlation".
    """

    name: str
    scores: Mapping[str, float]
    gains: Mapping[str, float]
    targets: Sequence[str]
    r: float | None
    p_value: float | None

    @property
    def mean(self) -> float:
        """The mean gain over targets."""
        return fmean(self.gains[language] for language in self.targets)

    @property
    def better(self) -> int:
        """How many targets have a higher score."""
        return sum(self.gains[language] > 0 for language in self.targets)


def measure_gains(scores: Scores, against: str, sources: Iterable[str] = ("en",)) -> list[Gains]:
    """What each way of learning gains over one of them.

    Args:
        scores: Name of a way -> language -> score in percent, the same languages for all.
        against: The name of the one.
        sources: Languages that are learned from.

    Returns:
        One for each other way, in their order.

    Raises:
        DataError: If there is no way of that name, the languages differ, or all are sources.
    """
    if against not in scores:
        raise DataError(f"expected scores of {against!r} among {', '.join(scores)}; name one of these.")
    base, from_ = scores[against], {main_code(language) for language in sources}
    ordered = sorted(base, key=lambda language: -base[language])
    targets = [language for language in ordered if main_code(language) not in from_]
    if not targets:
        raise DataError(f"expected scores in a language that is no source, got {', '.join(base) or 'none'}.")
    found = []
    for name, by_language in scores.items():
        if differ := sorted(by_language.keys() ^ base.keys()):
            raise DataError(f"expected scores of {name} and {against} in the same languages, got {differ[0]} in one.")
        if name != against:
            gains = {language: by_language[language] - base[language] for language in ordered}
            r, _, _, p = pearson([base[x] for x in targets], [gains[x] for x in targets])
            found.append(Gains(name=name, scores=by_language, gains=gains, targets=targets, r=r, p_value=p))
    return found


def gains_table(task: str, scores: Scores, against: str, found: Sequence[Gains]) -> TextTable:
    """A line for each way of learning: mean over targets, what it gains, in how many languages, and in which."""
    targets = found[0].targets if found else list(scores[against])
    lines = [[against, f"{fmean(scores[against][x] for x in targets):.1f}", "", "", "", ""]]
    for each in found:
        r, p = in_form(each.r, "+.2f"), in_form(each.p_value, ".3f")
        mean = fmean(each.scores[x] for x in targets)
        lines.append([each.name, f"{mean:.1f}", f"{each.mean:+.1f}", f"{each.better} of {len(targets)}", r, p])
    header = ["", "targets", f"− {against}", "better in", f"r of gain and {against}", "p"]
    return TextTable(header, lines, task, task)


def plot_gains(panels: Mapping[str, Sequence[Gains]], against: str, path: str | Path, limit: float = 10.0) -> None:
    """Draw scores, coloured by what they gain, into a file.

    Args:
        panels: Title of a panel -> its rows, from `measure_gains`; sources stand to the left, then targets.
        against: What they are held against.
        path: The file; its end says which kind.
        limit: Points at the ends of the scale of colours; what is further below has triangles.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    wide = max(len(rows[0].gains) for rows in panels.values())
    high = sum(1.2 + 0.3 * len(rows) for rows in panels.values())
    with plotted(path, (2.5 + 0.45 * wide, high)) as figure:
        heights = [len(rows) + 2 for rows in panels.values()]
        for axes, (title, rows) in zip(
            figure.subplots(len(panels), squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0],
            panels.items(),
            strict=True,
        ):
            image = _panel(axes, rows, limit)
            axes.set_title(title, fontsize=9)
            figure.colorbar(image, ax=axes, extend="both").set_label(f"− {against}", fontsize=7)


def _panel(axes: "Axes", rows: Sequence[Gains], limit: float) -> "AxesImage":
    targets = rows[0].targets
    columns = [*(x for x in rows[0].gains if x not in targets), *targets]
    cells = [[each.gains[language] for language in columns] for each in rows]
    image = axes.imshow(cells, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
    for y, each in enumerate(rows):
        for x, language in enumerate(columns):
            below = BELOW if each.gains[language] < -limit else ""
            dark = abs(each.gains[language]) > 0.6 * limit
            shown = f"{below}{each.scores[language]:.1f}"
            axes.text(x, y, shown, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    axes.set_xticks(range(len(columns)), columns, fontsize=7)
    axes.set_yticks(range(len(rows)), [each.name for each in rows], fontsize=7)
    return image
