"""Tables 3, 4 and 5 and Figure 1 of XMULTI in small, one seed; of `docs/results/knowledge.md`, see `figures.py`."""

from collections.abc import Callable
from functools import cached_property
from statistics import fmean
from typing import Any

from knowledge_tables import TASKS
from language_tables import table

LANGUAGES = ("en", "de", "es", "fr")
SYSTEMS = ("cross", "multi")
TOP = (40, 60, 80)
PARTS = {"lower": slice(0, 4), "middle": slice(4, 8), "upper": slice(8, 12)}
"""Thirds of the twelve layers."""


class Analyses:
    """The record by what is asked of it.

    Args:
        read: Gives what `gather` does.
    """

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        self._read = read

    @cached_property
    def found(self) -> dict[str, Any]:
        """The record."""
        return self._read()

    # Table 3

    def probed(self, model: str, task: str) -> dict[str, Any]:
        """Probe (`a`: of the encoder before), ceiling (`b`: of the model), and ceiling minus probe in points."""
        return next(row for row in self.found["probing"] if (row["model"], row["task"]) == (model, task))

    def taught(self, model: str, task: str) -> float:
        """Ceiling minus probe; above 0 the model helps the task."""
        return float(self.probed(model, task)["difference"])

    def more(self, model: str, task: str) -> float:
        """By how much more a task's multi model helps another task than its cross model does."""
        return self.taught(f"{model}-multi", task) - self.taught(f"{model}-cross", task)

    def others(self, system: str) -> list[float]:
        """What the models of a system teach for the tasks that are not their own."""
        return [self.taught(f"{a}-{system}", b) for a in TASKS for b in TASKS if a != b]

    def probing(self) -> list[str]:
        """A line for each model, its own task in brackets; the intervals of a column hold all together."""
        lines = [["probe of the encoder before", *(f"{self.probed('pos-cross', x)['a']:.1f}" for x in TASKS)]]
        for task, name in TASKS.items():
            for system in SYSTEMS:
                cells = []
                for other in TASKS:
                    row = self.probed(f"{task}-{system}", other)
                    cell = f"{row['difference']:+.1f} [{row['simultaneous_low']:+.1f}, {row['simultaneous_high']:+.1f}]"
                    cells.append(f"({cell})" if row["own"] else cell)
                lines.append([f"{name}, {system}", *cells])
        return table(["", *TASKS.values()], lines)

    # Table 4

    def common(self, model: str, task: str, k: int, with_: str = "") -> dict[str, Any]:
        """Heads among the K best for a task of a model and of another one, by default the task's cross model."""
        both = {model, with_ or f"{task}-cross"}
        return next(row for row in self.found["overlaps"][task] if {row["a"], row["b"]} == both and row["k"] == k)

    def overlap(self, model: str, task: str, k: int, with_: str = "") -> int:
        """How many."""
        return int(self.common(model, task, k, with_)["overlap"])

    def rho(self, model: str, task: str, k: int) -> float:
        """Spearman's rho of the ranks of those."""
        return float(self.common(model, task, k)["rho"])

    def compared(self, a: str, b: str) -> list[int]:
        """The sign of what model a shares more of than b, over the other tasks of the two and K; see `common`."""
        tasks = [task for task in TASKS if not a.startswith(task) and not b.startswith(task)]
        gaps = [self.overlap(a, task, k) - self.overlap(b, task, k) for task in tasks for k in TOP]
        return [(gap > 0) - (gap < 0) for gap in gaps]

    def untrained(self, task: str, k: int) -> list[int]:
        """What every two models share that did not learn the task, the encoder before among them."""
        rows = [row for row in self.found["overlaps"][task] if row["k"] == k]
        return [row["overlap"] for row in rows if not any(row[x].startswith(f"{task}-") for x in "ab")]

    def own_is_highest(self, measure: str) -> int:
        """In how many of 12 rows (multi model, K) `overlap` or `rho` is highest on the model's own task."""
        return sum(
            max(TASKS, key=lambda other: self.common(f"{task}-multi", other, k)[measure]) == task
            for task in TASKS
            for k in TOP
        )

    def overlaps(self) -> list[str]:
        """A line for each model and K: of each task the heads shared with its cross model, and rho."""
        lines = []
        for task, name in TASKS.items():
            for system in SYSTEMS:
                for k in TOP:
                    cells = []
                    for other in TASKS:
                        if (task, system) == (other, "cross"):
                            cells.append("")
                            continue
                        row = self.common(f"{task}-{system}", other, k)
                        cells.append(f"{row['overlap']}, {row['rho']:+.2f}{'*' if row['p_value'] < 0.05 else ''}")
                    lines.append([f"{name}, {system}", str(k), *cells])
        return table(["", "K", *TASKS.values()], lines)

    def best_heads(self, task: str, model: str, number: int = 3) -> list[str]:
        """The heads that tell most of a task, as layer.head from 1."""
        scores = [
            (value, f"{k}.{h}")
            for k, row in enumerate(self.found["heads"][task][model], 1)
            for h, value in enumerate(row, 1)
        ]
        return [name for _, name in sorted(scores, reverse=True)[:number]]

    def best(self) -> list[str]:
        """A line for each model: its three best heads for each task."""
        models = ["offline", *(f"{task}-{system}" for task in TASKS for system in SYSTEMS)]
        lines = []
        for model in models:
            task, _, system = model.partition("-")
            name = f"{TASKS[task]}, {system}" if system else "the encoder before"
            lines.append([name, *(", ".join(self.best_heads(other, model)) for other in TASKS)])
        return table(["", *TASKS.values()], lines)

    def at_the_end(self, task: str) -> list[int]:
        """Of how many of 144 probes dev chose the highest rate that was tried, a number a model."""
        return list(self.found["head_rates_at_the_highest"][task].values())

    # Table 5

    def perplexity(self, task: str, model: str, language: str) -> float:
        """Of `adapted`, `DA` or `multi+DA`, on the text of its task."""
        name = f"adapted-{task}" if model == "adapted" else f"{task}-{model}"
        wanted = (task, name, language)
        return next(
            float(r["value"]) for r in self.found["perplexity"] if (r["task"], r["model"], r["language"]) == wanted
        )

    def ratios(self, a: str, b: str) -> dict[tuple[str, str], float]:
        """How many times as high a model is as another one, for each task and language."""
        return {(t, x): self.perplexity(t, a, x) / self.perplexity(t, b, x) for t in TASKS for x in LANGUAGES}

    def perplexities(self) -> list[str]:
        """A line for each task and model, with its interval."""
        names = {"adapted": "adapted", "DA": "adapted, then cross", "multi+DA": "adapted, then multi"}
        lines = []
        for task, title in TASKS.items():
            for model, name in names.items():
                wanted = f"adapted-{task}" if model == "adapted" else f"{task}-{model}"
                rows = {r["language"]: r for r in self.found["perplexity"] if (r["task"], r["model"]) == (task, wanted)}
                cells = [f"{rows[x]['value']:,.0f} [{rows[x]['low']:,.0f}, {rows[x]['high']:,.0f}]" for x in LANGUAGES]
                lines.append([f"{title}, {name}", *cells])
        return table(["", *LANGUAGES], lines)

    # Figure 1

    def moved(self, model: str, part: str) -> float:
        """The mean update of the heads of a third of the layers, as a share of the largest of the model."""
        return fmean(fmean(row) for row in self.found["updates"][model][PARTS[part]])

    def moved_more(self, task: str, part: str) -> float:
        """The mean of multi minus cross there."""
        return self.moved(f"{task}-multi", part) - self.moved(f"{task}-cross", part)

    def rho_of_updates(self, a: str, b: str) -> float:
        """Spearman's rho of two maps over 144 heads."""
        return next(float(row["rho"]) for row in self.found["updates_compared"] if {row["a"], row["b"]} == {a, b})

    def rho_across(self) -> list[float]:
        """The same of models of different tasks."""
        rows = self.found["updates_compared"]
        return [row["rho"] for row in rows if row["a"].partition("-")[0] != row["b"].partition("-")[0]]

    def updates(self) -> list[str]:
        """A line for each task: mean updates of thirds of the layers, and rho of cross and multi."""
        lines = []
        for task, name in TASKS.items():
            for system in SYSTEMS:
                cells = [f"{self.moved(f'{task}-{system}', part):.2f}" for part in PARTS]
                rho = f"{self.rho_of_updates(f'{task}-cross', f'{task}-multi'):.2f}" if system == "multi" else ""
                lines.append([f"{name}, {system}", *cells, rho])
        return table(["", *(f"{part} layers" for part in PARTS), "rho, cross and multi"], lines)
