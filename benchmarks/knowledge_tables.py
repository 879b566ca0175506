"""The rows of `knowledge.py`, and their tables."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import language_tables
from measuring import table
from tunings import best_of, spread

SPLIT = "+DA, pairs split"
ORDER = ("cross", "multi", "+FA", "+DA", "+combined", SPLIT)
TASKS = {"pos": "POS", "ner": "NER", "pawsx": "PAWS-X", "sentiment": "sentiment"}


def group_of(row: dict[str, Any]) -> tuple[str, str]:
    """Task and system."""
    return row["cell"].get("task", ""), row["cell"].get("system", "")


def seed_of(row: dict[str, Any]) -> int:
    """The seed of a row."""
    return int(row["cell"]["seed"])


class Knowledge:
    """The rows by what is asked of them.

    Args:
        rows: Of `read_rows`.
        score: `macro_f1`, or `scores` for the task's own metric.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], score: str = "macro_f1") -> None:
        self.rows, self.score = [row for row in rows if "macro_f1" in row], score
        self.languages = list(self.rows[0]["macro_f1"]) if self.rows else []

    def systems(self, task: str) -> list[str]:
        """Those of a task, in the paper's order."""
        there = {group_of(row) for row in self.rows}
        return [system for system in ORDER if (task, system) in there]

    def chosen(self, task: str, system: str) -> list[dict[str, Any]]:
        """The rows of a system at its best rate, one a seed."""
        mine = [row for row in self.rows if group_of(row) == (task, system)]
        rate = best_of([row for row in mine if seed_of(row) == 0])["cell"]["rate"]
        return sorted((row for row in mine if row["cell"]["rate"] == rate), key=seed_of)

    def of(self, task: str, system: str, language: str) -> list[float]:
        """The scores of a language, one a seed; of `mean` those over all languages, of `targets` without English."""
        wanted = {"mean": self.languages, "targets": self.languages[1:]}.get(language, [language])
        return [fmean(row[self.score][x] for x in wanted) for row in self.chosen(task, system)]

    def gain(self, task: str, system: str, language: str, over: str = "cross") -> float:
        """How many points a system is above another, in the mean over seeds."""
        return fmean(self.of(task, system, language)) - fmean(self.of(task, over, language))

    def noise(self, task: str, system: str, language: str, over: str = "cross") -> float | None:
        """The standard deviation over seeds of a gain: that of both systems; None where one has one seed."""
        both = [self.of(task, system, language), self.of(task, over, language)]
        return math.hypot(*map(stdev, both)) if min(map(len, both)) > 1 else None

    def sign(self, task: str, system: str, language: str, over: str = "cross") -> int:
        """1 or -1 where a system is above or below another one by more than the noise, else 0."""
        gain, noise = self.gain(task, system, language, over), self.noise(task, system, language, over)
        return 0 if noise is None or abs(gain) <= noise else int(math.copysign(1, gain))

    def cells(self, system: str, sign: int, tasks: Sequence[str] = tuple(TASKS), languages: Sequence[str] = ()) -> int:
        """In how many cells of tasks and languages a system has this sign."""
        there = [task for task in tasks if system in self.systems(task)]
        return sum(self.sign(task, system, x) == sign for task in there for x in languages or self.languages)

    def highest(self, task: str, system: str) -> int:
        """In how many languages a system is the highest of those that learn from English labels alone."""
        others = [each for each in self.systems(task) if each != "multi"]
        return sum(max(others, key=lambda each: fmean(self.of(task, each, x))) == system for x in self.languages)

    def relative(self, task: str, system: str) -> float:
        """The gain over `cross` in percent of it, the mean over languages."""
        return fmean(100 * self.gain(task, system, x) / fmean(self.of(task, "cross", x)) for x in self.languages)

    def devs(self, task: str, system: str) -> list[float]:
        """The dev score of each seed."""
        return [row["dev"] for row in self.chosen(task, system)]

    def scores(self) -> list[str]:
        """A line for each task and system: mean and spread over seeds, the rate, the number of seeds."""
        columns, lines = [*self.languages, "targets"], []
        for task, name in TASKS.items():
            for system in self.systems(task):
                chosen = self.chosen(task, system)
                cells = [spread(self.of(task, system, x)) for x in columns]
                lines.append([f"{name}, {system}", *cells, f"{chosen[0]['cell']['rate']:g}", str(len(chosen))])
        return language_tables.table(["", *columns, "rate", "seeds"], lines)

    def gains(self) -> list[str]:
        """A line for each task and system but `cross`: gains over `cross`, bold where they are above the noise."""
        columns, lines = [*self.languages, "targets"], []
        for task, name in TASKS.items():
            for system in self.systems(task)[1:]:
                cells = []
                for x in columns:
                    noise, bold = self.noise(task, system, x), "**" if self.sign(task, system, x) else ""
                    about = "" if noise is None else f" ± {noise:.1f}"
                    cells.append(f"{bold}{self.gain(task, system, x):+.1f}{bold}{about}")
                lines.append([f"{name}, {system}", *cells])
        return language_tables.table(["", *columns], lines)

    def by_seed(self, task: str) -> list[str]:
        """A line for each system of a task: dev and the mean of the targets, seed by seed."""
        lines = []
        for system in self.systems(task):
            devs = ", ".join(f"{value:.1f}" for value in self.devs(task, system))
            lines.append([system, devs, ", ".join(f"{value:.1f}" for value in self.of(task, system, "targets"))])
        return language_tables.table(["", "dev, seed by seed", "targets, seed by seed"], lines)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Macro-F1 of each task and system in the four languages, bars as long as the standard deviation over seeds."""
    import matplotlib

    from dlfa_adapters.ground.plots import plotted

    known = Knowledge(rows)
    with matplotlib.rc_context({"svg.hashsalt": "knowledge", "svg.fonttype": "none"}), plotted(path, (10, 6)) as figure:
        for axes, (task, name) in zip(figure.subplots(2, 2).flat, TASKS.items(), strict=True):
            systems = known.systems(task)
            for number, system in enumerate(systems):
                values = [known.of(task, system, x) for x in known.languages]
                at = [place + (number - (len(systems) - 1) / 2) * 0.16 for place in range(len(values))]
                about = [stdev(each) if len(each) > 1 else 0 for each in values]
                colour = f"C{ORDER.index(system)}"
                axes.bar(at, list(map(fmean, values)), 0.15, yerr=about, label=system, color=colour, capsize=2)
            axes.set_xticks(range(len(known.languages)), known.languages)
            axes.set(title=name, ylabel="macro-F1, %", ylim=(30, 100))
            axes.legend(fontsize=7, ncols=5, loc="upper center")


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table of macro-F1, one of the task's own score, a line for each task and system."""
    parts = []
    for score, title in (("macro_f1", "Macro-F1 over labels, %"), ("scores", "Span F1, accuracy, %")):
        known, lines = Knowledge(rows, score), []
        columns = [*known.languages, "targets"]
        for task, name in TASKS.items():
            for system in known.systems(task):
                chosen = known.chosen(task, system)
                cells = [spread(known.of(task, system, language)) for language in columns]
                rate = f"{chosen[0]['cell']['rate']:g}"
                lines.append([name, system, *cells, rate, str(len(chosen))])
        parts.append(f"{title}\n\n{table(['task', 'system', *columns, 'rate', 'seeds'], lines)}\n")
    return "\n".join(parts)
