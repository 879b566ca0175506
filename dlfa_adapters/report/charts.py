"""The geometry of the drawings, in the units of their SVG; the templates write the elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from dlfa_adapters.scores.intervals import Estimate
from dlfa_adapters.scores.show import percent

WIDTH, HEIGHT = 420, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 10, 12, 34


@dataclass(frozen=True)
class Point:
    """One value of a line chart.

    Attributes:
        x: From the left.
        y: From the top.
        low: Where the interval ends below; None without one.
        high: Where it ends above.
        name: What stands under it on the axis; "" where there is no room.
        label: What it is, in words.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    name: str
    label: str


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: the baseline.

    Attributes:
        y: From the top.
        low: Where the interval ends below; None without one.
        high: Where it ends above.
        label: What it is, in words.
    """

    y: float
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True)
class LineChart:
    """Scores by layer.

    Attributes:
        points: The values, from left to right.
        level: The baseline, if there is one.
        ticks: Height and text of the lines of the grid.
        path: The line through the points, as an SVG path.
    """

    points: list[Point]
    level: Level | None
    ticks: list[tuple[float, str]]
    path: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def line_chart(
    names: Sequence[str], scores: Sequence[Estimate], baseline: tuple[str, Estimate] | None = None
) -> LineChart | None:
    """A chart of scores with their intervals.

    Args:
        names: What the scores belong to, in the order of the axis.
        scores: The scores, fractions; one that is not defined is left out.
        baseline: Name and score of what they are compared with.

    Returns:
        The chart; None if no score is defined.
    """
    level = baseline if baseline is not None and baseline[1].value is not None else None
    every = [*scores, *([level[1]] if level else [])]
    values = [100 * x for score in every for x in (score.value, score.low, score.high) if x is not None]
    if not values:
        return None
    step = next(s for s in (1, 2, 5, 10, 20, 50) if (max(values) - min(values)) / s <= 6)
    bottom, top = floor(min(values) / step) * step, max(ceil(max(values) / step), floor(min(values) / step) + 1) * step

    def y(value: float | None) -> float | None:
        inner = HEIGHT - _TOP - _BOTTOM
        return None if value is None else round(_TOP + inner * (top - 100 * value) / (top - bottom), 1)

    def placed(score: Estimate) -> tuple[float, float | None, float | None]:
        return y(score.value) or 0.0, y(score.low), y(score.high)

    gap = (WIDTH - _LEFT - _RIGHT) / max(1, len(names))
    every_nth = ceil(max(len(name) for name in names) * 6.5 / gap)
    points = [
        Point(
            round(_LEFT + gap * (i + 0.5), 1),
            *placed(score),
            name if i % every_nth == 0 else "",
            f"{name}: {in_words(score)}",
        )
        for i, (name, score) in enumerate(zip(names, scores, strict=True))
        if score.value is not None
    ]
    ticks = [(y(tick / 100) or 0.0, str(tick)) for tick in range(bottom, top + 1, step)]
    path = " ".join(f"{'L' if i else 'M'}{point.x} {point.y}" for i, point in enumerate(points))
    drawn = Level(*placed(level[1]), f"{level[0]}: {in_words(level[1])}") if level else None
    return LineChart(points, drawn, ticks, path)


def in_words(score: Estimate) -> str:
    """A score in percent with its interval, as text."""
    if score.value is None:
        return "not defined"
    ends = "" if score.low is None else f", from {percent(score.low)} to {percent(score.high)}"
    return percent(score.value) + ends
