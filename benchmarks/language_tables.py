"""Figures and tables of docs/results/language-information.md, from its rows; see `figures.py`."""

from collections.abc import Callable
from functools import cached_property
from statistics import fmean
from typing import Any

LATIN = frozenset("af az de en es et eu fr hu id it jv lt nl pl pt qu sw tl tr vi yo".split())
"""Languages of NER, POS and parsing that are written in Latin letters."""

Rows = Callable[[str], Any]


def table(header: list[str], lines: list[list[str]]) -> list[str]:
    """Lines of a table in Markdown, names to the left and numbers to the right."""
    cells = [header, *lines]
    return [_line(cells[0]), "|---|" + "---:|" * (len(header) - 1), *map(_line, cells[1:])]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


class LanguageId:
    """The rows of `dlfa analyze language-id`.

    Args:
        rows: Gives a file of docs/results/raw.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """All of them."""
        return list(self._rows("language-id.jsonl"))

    def states(self, text: str) -> list[dict[str, Any]]:
        """Those of a text, layer by layer, the fused state last."""
        return [row for row in self.rows if row["text"] == text]

    def state(self, text: str, state: str | int) -> dict[str, Any]:
        """One of them."""
        return next(row for row in self.states(text) if row["state"] == str(state))

    def accuracy(self, text: str, state: str | int) -> float:
        """In percent, the mean over languages."""
        return float(100 * self.state(text, state)["accuracy"][0])

    def layers(self, text: str) -> list[float]:
        """The accuracies of the layers."""
        return [100 * row["accuracy"][0] for row in self.states(text) if row["state"] != "fused"]

    def language(self, text: str, state: str | int, language: str) -> float:
        """The accuracy of one language, in percent."""
        return float(100 * self.state(text, state)["languages"][language])

    def against(self, text: str, state: str | int) -> list[float]:
        """Against the last layer: difference and ends of its interval in points, and the adjusted p-value."""
        *points, p = self.state(text, state)["against"]
        return [*(100 * point for point in points), p]

    def mixed(self, text: str, state: str | int, a: str, b: str) -> int:
        """Test sentences of a pair that are mixed up, in both directions."""
        return sum(n for x, y, n in self.state(text, state)["mixed_up"] if {x, y} == {a, b})

    def table(self, text: str) -> list[str]:
        """A line for each state."""
        lines = []
        for row in self.states(text):
            low, high = (f"{100 * end:.1f}" for end in row["accuracy"][1:])
            lowest = min(row["languages"], key=row["languages"].get)
            cells = [row["state"], f"{100 * row['accuracy'][0]:.1f}", f"[{low}, {high}]"]
            cells += [f"{lowest} {100 * row['languages'][lowest]:.1f}"]
            if row["against"]:
                difference, low, high, p = row["against"]
                cells += [f"{100 * difference:+.1f}", f"[{100 * low:+.1f}, {100 * high:+.1f}]", f"{p:.3f}"]
            else:
                cells += ["", "", ""]
            lines.append([*cells, f"{row['rate']:g}", f"{row['epoch']}{'' if row['at_end'] else '!'}"])
        header = ["layer", "accuracy", "95 %", "lowest", "− last", "95 %", "adjusted p", "rate", "epoch"]
        return table(header, lines)

    def pairs(self, text: str, most: int = 8) -> list[str]:
        """A line for each of the pairs that are mixed up most often, over all states."""
        times: dict[tuple[str, str], int] = {}
        states = self.states(text)
        for row in states:
            for a, b, number in row["mixed_up"]:
                times[min(a, b), max(a, b)] = times.get((min(a, b), max(a, b)), 0) + number
        first = sorted(times, key=lambda pair: (-times[pair], pair))[:most]
        lines = [[", ".join(p), *(str(self.mixed(text, row["state"], *p)) for row in states)] for p in first]
        return table(["", *(row["state"] for row in states)], lines)


class Overlap:
    """The rows of `dlfa analyze overlap`.

    Args:
        rows: Gives a file of docs/results/raw.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @cached_property
    def languages(self) -> list[dict[str, Any]]:
        """A row for each task and language."""
        return [row for row in self._rows("overlap.jsonl") if "r" not in row]

    @cached_property
    def correlations(self) -> list[dict[str, Any]]:
        """A row for each task, scores, measure, with the source and without."""
        return [row for row in self._rows("overlap.jsonl") if "r" in row]

    def correlation(self, task: str, scores: str, measure: str, source: bool = False) -> dict[str, Any]:
        """The row of a correlation."""
        wanted = {"task": task, "scores": scores, "measure": measure, "with_source": source}
        return next(row for row in self.correlations if wanted.items() <= row.items())

    def r(self, task: str, scores: str, measure: str, source: bool = False) -> float:
        """Pearson's r, as the command printed it."""
        return float(self.correlation(task, scores, measure, source)["r"])

    def p(self, task: str, scores: str, measure: str, source: bool = False) -> float:
        """Its p-value."""
        return float(self.correlation(task, scores, measure, source)["p_value"])

    def targets(self, task: str, latin: bool | None = None) -> list[dict[str, Any]]:
        """The languages of a task but the source: all, those in Latin letters, or the others."""
        rows = [row for row in self.languages if row["task"] == task and not row["is_source"]]
        return [row for row in rows if latin is None or (row["language"] in LATIN) == latin]

    def scored(self, task: str, scores: str, latin: bool) -> list[dict[str, Any]]:
        """The targets in Latin letters, or all others, that have a score."""
        return [row for row in self.targets(task, latin) if row["scores"][scores] is not None]

    def among(self, task: str, scores: str, measure: str, latin: bool) -> list[float | None]:
        """r, its interval and its p-value over targets in Latin letters alone, or in all others."""
        from dlfa_adapters.analysis.correlation import pearson

        rows = self.scored(task, scores, latin)
        return list(pearson([row[measure] for row in rows], [row["scores"][scores] for row in rows]))

    def mean(self, task: str, scores: str, latin: bool) -> float:
        """The mean score over targets in Latin letters, or in all others."""
        return fmean(row["scores"][scores] for row in self.scored(task, scores, latin))

    def heads(self, task: str) -> list[str]:
        """The scores of a task that are not of fine-tuning."""
        [first, *_] = self.targets(task)
        return [name for name in first["scores"] if not name.startswith("full")]

    def frequent(self, task: str) -> int:
        """In how many targets more of the tokens than of the types are shared."""
        return sum(row["p_token"] > row["p_type"] for row in self.targets(task))

    def family(self, task: str, measure: str, low: float = 0, high: float = 100, latin: bool | None = None) -> int:
        """How many Indo-European targets have so much of a measure; without bounds, all of them."""
        rows = [row for row in self.targets(task, latin) if row["family"] == "Indo-European"]
        return sum(low <= row[measure] <= high for row in rows)

    def table(self) -> list[str]:
        """A line for each correlation."""
        lines = []
        for x in self.correlations:
            ends = "" if x["low"] is None else f"[{x['low']:+.2f}, {x['high']:+.2f}]"
            p = "< 0.001" if x["p_value"] < 0.0005 else f"{x['p_value']:.3f}"
            source = "with" if x["with_source"] else "without"
            names = [x["task"], x["scores"], "types" if x["measure"] == "p_type" else "tokens", source]
            lines.append([*names, str(x["languages"]), f"{x['r']:+.2f}", ends, p])
        return table(["task", "scores", "overlap", "source", "languages", "r", "95 %", "p"], lines)

    def by_script(self) -> list[str]:
        """A line for each task and scores of many languages: r among languages of one script, and mean scores."""
        lines = []
        for task in ("ner", "pos", "parse"):
            for scores in next(x["scores"] for x in self.languages if x["task"] == task):
                for latin in (True, False):
                    cells = [task, scores, "Latin" if latin else "others", str(len(self.scored(task, scores, latin)))]
                    cells.append(f"{self.mean(task, scores, latin):.1f}")
                    for measure in ("p_type", "p_token"):
                        r, _, _, p = self.among(task, scores, measure, latin)
                        cells += [f"{r:+.2f}", "< 0.001" if (p or 0) < 0.0005 else f"{p:.3f}"]
                    lines.append(cells)
        header = ["task", "scores", "script", "targets", "mean score", "r of types", "p", "r of tokens", "p"]
        return table(header, lines)

    def by_language(self, task: str) -> list[str]:
        """A line for each language of a task."""
        rows = [x for x in self.languages if x["task"] == task]
        header = ["", "family", "types", "tokens", "% of types", "% of tokens", *rows[0]["scores"]]
        lines = [
            [
                f"{x['language']}{' (source)' * x['is_source']}",
                x["family"] or "–",
                f"{x['types']:,}",
                f"{x['tokens']:,}",
                f"{x['p_type']:.1f}",
                f"{x['p_token']:.1f}",
                *("–" if score is None else f"{score:.1f}" for score in x["scores"].values()),
            ]
            for x in rows
        ]
        return table(header, lines)
