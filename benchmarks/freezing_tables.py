"""Figures, tables and the plot of docs/results/freezing.md, from rows of `tunings.py`; see `figures.py`.

python benchmarks/freezing_tables.py docs/results/freezing.svg
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import tunings

from dlfa_adapters.analysis.gains import Gains, gains_table, measure_gains, plot_gains

FULL = "full"
TITLES = {"topic": "topic (SIB-200)", "xnli": "XNLI", "ner": "NER (PAN-X)", "pos": "POS", "parse": "parsing, LAS"}
"""Sentences first, then words, as the paper has its panels."""

FEATURES = {"bilstm": "scalar mix, BiLSTM"}


class Freezing:
    """Scores by language of each way of learning.

    Args:
        read: Gives the rows of a file.
    """

    def __init__(self, read: Callable[[str], Iterable[dict[str, Any]]]) -> None:
        self._read = read

    def rows(self, task: str) -> list[dict[str, Any]]:
        """The rows of a task with the last layer, and of features under an LSTM, at the rates that were chosen."""
        file = "parsing-uas.jsonl" if task == "parse" else "freezing.jsonl"
        mine = [row for row in self._read(file) if row["cell"]["task"] == task]
        return [row for row in tunings.chosen(mine) if way_of(row)]

    def scores(self, task: str) -> dict[str, dict[str, float]]:
        """Way -> language -> mean over seeds, `full` first."""
        found: dict[str, list[dict[str, float]]] = {}
        for row in self.rows(task):
            found.setdefault(way_of(row), []).append(row["scores"])
        means = {way: {x: fmean(each[x] for each in found[way]) for x in found[way][0]} for way in sorted(found)}
        return {way: means[way] for way in (FULL, *(way for way in means if way != FULL))}

    def seeds(self, task: str, way: str) -> int:
        """How many seeds a way has."""
        return sum(way_of(row) == way for row in self.rows(task))

    def paired(self, task: str, way: str) -> list[float]:
        """What a way gains over `full` in the mean over targets, one a seed."""
        means: dict[tuple[str, int], float] = {}
        for row in self.rows(task):
            means[way_of(row), row["cell"]["options"]["seed"]] = tunings.targets_of(row["scores"])
        return [mean - means[FULL, seed] for (name, seed), mean in sorted(means.items()) if name == way]

    def over_seeds(self) -> list[str]:
        """A line for each task: what N frozen blocks gain, mean and standard deviation over seeds."""
        ways = [f"freeze:{n}" for n in (0, 3, 6, 9)]
        lines = [
            [title, *(tunings.spread(self.paired(task, way), "+.1f") for way in ways)] for task, title in TITLES.items()
        ]
        return tunings.table(["", *ways], lines).splitlines()

    def gains(self, task: str) -> list[Gains]:
        """What each way gains over fine-tuning everything."""
        return measure_gains(self.scores(task), FULL)

    def of(self, task: str, way: str) -> Gains:
        """What one way gains."""
        return next(each for each in self.gains(task) if each.name == way)

    def english(self, task: str, way: str) -> float:
        """The score in English."""
        return self.scores(task)[way]["en"]

    def spread(self, task: str) -> float:
        """The largest difference between seeds of the mean over targets with all learning."""
        means = [tunings.targets_of(row["scores"]) for row in self.rows(task) if way_of(row) == FULL]
        return max(means) - min(means)

    def memory(self, task: str, way: str) -> float:
        """Peak memory of the first seed, in MB."""
        return float(next(row["peak_memory_mb"] for row in self.rows(task) if way_of(row) == way))

    def r(self, task: str, way: str) -> float:
        """Pearson's r over targets of gain and score with all learning."""
        return float(self.of(task, way).r or 0.0)

    def table(self, task: str) -> list[str]:
        """A line for each way."""
        return gains_table(TITLES[task], self.scores(task), FULL, self.gains(task)).markdown()

    def plot(self, path: Path) -> None:
        """Figure 1: a panel for each task."""
        plot_gains({title: self.gains(task) for task, title in TITLES.items()}, FULL, path)


def way_of(row: dict[str, Any]) -> str:
    """The name of a way of learning, empty for those that are not shown."""
    cell = row["cell"]
    if cell["head"] == "last" and cell["tuning"] != "lora":
        return str(cell["tuning"]) if cell["tuning"] != "features" else ""
    return FEATURES.get(cell["head"], "") if cell["tuning"] == "features" else ""


PAPER = {
    "en": "91.5/81.3", "fr": "82.7/72.7", "es": "78.1/64.9", "it": "84.6/74.4", "bg": "83.3/62.3", "de": "80.4/66.3",
    "nl": "78.0/64.8", "ru": "73.6/58.5", "id": "62.6/45.6", "et": "66.9/44.3", "zh": "53.8/26.8", "ar": "43.9/28.3",
    "ko": "52.7/27.5", "hi": "49.8/33.2", "ja": "36.6/15.7",
}  # fmt: skip
"""UAS/LAS of multilingual BERT without parts of speech, Table 6 of Wu and Dredze 2019, by distance of word order."""


class BesidePaper:
    """UAS and LAS without PUNCT and SYM, as the paper has them, beside its Table 6.

    Args:
        read: Gives the rows of a file.
    """

    SYSTEMS = (
        ("full", "last"),
        ("lora", "last"),
        ("features", "last-bilstm"),
        ("features", "dlfa@7-bilstm"),
        ("full", "last-upos"),
    )
    NAMES = ("full", "LoRA", "frozen, LSTM on the last layer", "frozen, LSTM on DLFA 7", "full, gold parts of speech")

    def __init__(self, read: Callable[[str], Iterable[dict[str, Any]]]) -> None:
        self._read = read

    def value(self, system: tuple[str, str], language: str, score: str) -> float:
        """The mean over seeds."""
        mine = [row for row in self._read("parsing-uas.jsonl") if tunings.group_of(row["cell"])[1:] == system]
        rows = tunings.chosen(mine)
        return fmean(row["all_scores"][f"{score}_nopunct"][language] for row in rows)

    def mean(self, system: tuple[str, str], score: str) -> float:
        """The mean over the languages of both."""
        return fmean(self.value(system, language, score) for language in PAPER)

    def table(self) -> list[str]:
        """A line for each language."""
        lines: list[Sequence[str]] = [
            [x, *(f"{self.value(s, x, 'uas'):.1f}/{self.value(s, x, 'las'):.1f}" for s in self.SYSTEMS), theirs]
            for x, theirs in PAPER.items()
        ]
        theirs = [fmean(float(both.split("/")[i]) for both in PAPER.values()) for i in (0, 1)]
        ours = [f"{self.mean(s, 'uas'):.1f}/{self.mean(s, 'las'):.1f}" for s in self.SYSTEMS]
        lines.append(["mean", *ours, f"{theirs[0]:.1f}/{theirs[1]:.1f}"])
        return tunings.table(["", *self.NAMES, "mBERT, the paper's Table 6"], lines).splitlines()


if __name__ == "__main__":
    raw = Path(__file__).parents[1] / "docs" / "results" / "raw"
    Freezing(lambda name: tunings.read_rows(raw / name)).plot(Path(sys.argv[1]))
