"""The rows of `knowledge.py`, and their tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from measuring import table

ORDER = ("cross", "multi", "+FA", "+DA", "+combined")
TASKS = {"pos": "POS", "ner": "NER", "pawsx": "PAWS-X", "sentiment": "sentiment"}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, those that failed left out."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [row for line in lines if "error" not in (row := json.loads(line))]


def group_of(row: dict[str, Any]) -> tuple[str, str]:
    """Task and system."""
    return row["cell"].get("task", ""), row["cell"].get("system", "")


def seed_of(row: dict[str, Any]) -> int:
    """The seed of a row."""
    return int(row["cell"]["seed"])


def best_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row with the best dev score, of those with one seed and several rates."""
    return max(rows, key=lambda row: row["dev"])


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


def spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


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
