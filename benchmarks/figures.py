"""The figures on the pages, compared with the raw rows in docs/results/raw: in tables and in prose.

    python benchmarks/figures.py                  # compares, and names every figure that differs or has no marker
    python benchmarks/figures.py --write PAGE     # puts the values of the rows into a page

A figure in prose carries a marker behind it that says how it comes about, an HTML comment that no reader sees:

    fusion is worth +18.0<!--= ner.against("attention D_7") --> points

It is a Python expression over the names below; the figure is rounded as it is written. A line
`<!-- table: EXPRESSION -->` stands above a table that is the lines the expression gives. On the pages of docs/results
every figure with a decimal point is of one of the two sorts, or stands in code, or on a line that ends in
`<!-- settings -->`: what was set, not measured.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import freezing_tables
import frozen_sweep_tables
import knowledge_analysis_tables
import knowledge_tables
import language_tables
import pretraining_tables
import retrieval_tables
import shift_tables
import small_data
import speed_tables
import translation_tables
import tunings

ROOT = Path(__file__).parents[1]
RAW = ROOT / "docs" / "results" / "raw"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]

FIGURE = r"(?P<sign>[+\u2212-]?)(?P<digits>\d[\d,]*(?:\.\d+)?)"
MARKED = re.compile(FIGURE + r"(?P<between>\s?%?\*{0,2})<!--= (?P<expression>.*?) -->")
TABLE = re.compile(r"<!-- table: (?P<expression>.*?) -->\n\n?(?P<lines>(?:\|.*\n)*)")
SETTINGS = "<!-- settings -->"
NOT_FIGURES = re.compile(
    r"^```[\s\S]*?^```|<!--(?! settings -->)[\s\S]*?-->|`[^`\n]*`|\]\([^)\n]*\)"
    r"|(?:PyTorch|Transformers|adapters|arXiv)\s\d[\d.]*",
    re.M,
)
"""Code, comments, links, versions."""

DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\.\d)")


@cache
def rows(name: str) -> Any:
    """A file of docs/results/raw: what is in it, a list for JSON lines."""
    text = (RAW / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


class Frozen:
    """The heads of `frozen_sweep.py` for a task.

    Args:
        task: Its name.
    """

    GROUPS = ("core", "controls", "variants", "norms")

    def __init__(self, task: str) -> None:
        self.results = [rows(f"{task}-{group}.json") for group in self.GROUPS]
        self.by_name = frozen_sweep_tables.by_name(self.results)
        self.rules = frozen_sweep_tables.Rules(self.results)

    def _mean(self, name: str, value: Callable[[dict[str, Any], int], float]) -> float:
        return fmean(value(head, frozen_sweep_tables.best_dev(head)) for head in self.by_name[name])

    def targets(self, name: str) -> float:
        """Mean over target languages and seeds, at the epoch that was kept."""
        return self._mean(name, frozen_sweep_tables.target_mean)

    def english(self, name: str) -> float:
        """Mean over seeds on English test data."""
        return self._mean(name, lambda head, epoch: head["languages"]["en"][epoch])

    def dev(self, name: str) -> float:
        """Mean over seeds on English dev data."""
        return self._mean(name, lambda head, epoch: head["dev"][epoch])

    def spread(self, name: str) -> float:
        """Standard deviation over seeds of the mean over target languages."""
        best = frozen_sweep_tables.best_dev
        return stdev(frozen_sweep_tables.target_mean(head, best(head)) for head in self.by_name[name])

    def against(self, name: str, other: str = "last") -> float:
        """How much higher than another head on the targets."""
        return self.targets(name) - self.targets(other)

    def each(self, pattern: str, layers: Iterable[int] = range(1, 12)) -> list[str]:
        """Names with a layer in the place of `*`."""
        return [pattern.replace("*", str(layer)) for layer in layers]

    def picked(self, pattern: str, layers: Iterable[int] = range(1, 12)) -> str:
        """The one of several layers that is best on English dev."""
        return max(self.each(pattern, layers), key=self.dev)

    def best(self, pattern: str, layers: Iterable[int] = range(1, 12)) -> str:
        """The one that is best on the targets, which needs their labels."""
        return max(self.each(pattern, layers), key=self.targets)

    def gains(self, new: str, old: str, layers: Iterable[int] = range(1, 12)) -> list[float]:
        """Differences on the targets, layer by layer."""
        pairs = zip(self.each(new, layers), self.each(old, layers), strict=True)
        return [self.against(a, b) for a, b in pairs]

    def dev_at(self, name: str, rate: str) -> float:
        """The best English dev score of the first seed at a rate."""
        return float(next(found["trials"][name][rate] for found in self.results if name in found["trials"]))

    def beyond(self) -> list[str]:
        """The heads whose best rate is beyond those that all heads were tried at."""
        return [name for name, heads in self.by_name.items() if not 1e-3 <= heads[0]["rate"] <= 3e-2]

    def table(self) -> list[str]:
        """A line for each head."""
        return frozen_sweep_tables.heads_table(self.results)


class Tunings:
    """The rows of `tunings.py` for a task, at the rates that its first seed chose.

    Args:
        task: Its name.
        name: The file.
    """

    def __init__(self, task: str, name: str = "tunings.jsonl") -> None:
        self.all = [row for row in rows(name) if row["cell"]["task"] == task and "error" not in row]
        self.rows = tunings.chosen(self.all)

    def of(self, tuning: str, head: str) -> list[dict[str, Any]]:
        """The rows of a tuning and a head, one a seed."""
        found = [row for row in self.rows if tunings.group_of(row["cell"])[1:] == (tuning, head)]
        return sorted(found, key=lambda row: row["cell"]["options"]["seed"])

    def spread(self, tuning: str, head: str) -> float:
        """Standard deviation over seeds of the mean over target languages."""
        return stdev(targets_of(row) for row in self.of(tuning, head))

    def targets(self, tuning: str, head: str) -> float:
        """Mean over target languages and seeds."""
        return fmean(targets_of(row) for row in self.of(tuning, head))

    def uas(self, tuning: str, head: str) -> float:
        """The UAS of a parser: mean over target languages and seeds."""
        return fmean(tunings.targets_of(tunings.uas_of(row)) for row in self.of(tuning, head))

    def english(self, tuning: str, head: str) -> float:
        """Mean over seeds."""
        return fmean(row["scores"]["en"] for row in self.of(tuning, head))

    def language(self, tuning: str, head: str, language: str) -> float:
        """Mean over seeds."""
        return fmean(row["scores"][language] for row in self.of(tuning, head))

    def lower(self, tuning: str, head: str, than: tuple[str, str] = ("full", "last")) -> int:
        """In how many target languages the mean over seeds is below another tuning's and head's."""
        codes = [code for code in self.rows[0]["scores"] if code != "en"]
        return sum(self.language(tuning, head, code) < self.language(*than, code) for code in codes)

    def against(self, tuning: str, head: str, other: str = "last") -> list[float]:
        """Differences of the mean over target languages to another head of the same tuning, one a seed."""
        pairs = zip(self.of(tuning, head), self.of(tuning, other), strict=True)
        return [targets_of(a) - targets_of(b) for a, b in pairs]

    def heads(self) -> list[tuple[str, str]]:
        """Tunings and heads in the order of the rows."""
        return [group[1:] for group in tunings.groups_of(self.all)]

    def table(self) -> list[str]:
        """A line for each tuning and head: rates, mean and spread over seeds."""
        return tunings.over_seeds(self.all).splitlines()

    def languages(self) -> list[str]:
        """A line for each tuning and head: the mean over seeds in each language, see `tunings.shown`."""
        codes = [code for code in self.rows[0]["scores"] if code != "en"]
        lines = [
            [tuning, self.name(tuning, head), *(tunings.shown(self.of(tuning, head), [code]) for code in codes)]
            for tuning, head in self.heads()
        ]
        return tunings.table(["tuning", "head", *codes], lines).splitlines()

    def trials(self) -> list[str]:
        """A line for each trial of rates: what English dev said, which chose, and what the targets were."""
        lines = []
        for tuning, head in self.heads():
            mine = [row for row in self.all if tunings.group_of(row["cell"])[1:] == (tuning, head)]
            first = [row for row in mine if row["cell"]["options"]["seed"] == mine[0]["cell"]["options"]["seed"]]
            for row in first if len(first) > 1 else []:
                rates = tunings.rates_of(row).replace("^", "")
                mark = "**" if row is tunings.best_of(first) else ""
                scores = [f"{mark}{row['dev']:.1f}{mark}", f"{targets_of(row):.1f}", f"{row['scores']['en']:.1f}"]
                lines.append([tuning, self.name(tuning, head), rates, *scores])
        return tunings.table(["tuning", "head", "rates", "English dev", "targets", "English test"], lines).splitlines()

    def trial(self, tuning: str, head: str, rate: float) -> float:
        """The mean over target languages at a rate that was tried with the first seed."""
        [row] = [
            row
            for row in self.all
            if tunings.group_of(row["cell"])[1:] == (tuning, head)
            and (row["cell"]["options"]["seed"], row["cell"]["options"]["learning_rate"]) == (0, rate)
        ]
        return targets_of(row)

    def rate_steps(self, tuning: str, lower: float, higher: float) -> list[tuple[float, float]]:
        """What the higher rate brings over the lower, first seed: on English dev and the targets, one a head."""
        found: dict[str, dict[float, tuple[float, float]]] = {}
        for row in self.all:
            cell = row["cell"]
            if cell["tuning"] == tuning and cell["options"]["seed"] == 0:
                rate = cell["options"]["learning_rate"]
                found.setdefault(cell["head"], {})[rate] = row["dev"], targets_of(row)
        pairs = [(rates[higher], rates[lower]) for rates in found.values()]
        return [(high[0] - low[0], high[1] - low[1]) for high, low in pairs]

    def costs(self) -> list[str]:
        """A line for each tuning and head: what learns, memory, time."""
        lines = []
        for tuning, head in self.heads():
            row = self.of(tuning, head)[0]
            share = 100 * row["trainable"] / row["parameters"]
            cells = [f"{row['trainable']:,}", f"{share:.2f} %", f"{row['peak_memory_mb']:,}", f"{row['seconds']:.0f}"]
            lines.append([tuning, self.name(tuning, head), *cells])
        return tunings.table(["tuning", "head", "learns", "share", "memory, MB", "seconds"], lines).splitlines()

    def name(self, tuning: str, head: str) -> str:
        """What a head is called in a table."""
        return tunings.title_of(self.of(tuning, head)[0])


def small() -> list[str]:
    """A line for each task, size and tuning of `small_data.py`."""
    return small_data.markdown([row for row in rows("small-data.jsonl") if "error" not in row]).splitlines()


def small_cell(task: str, size: int, tuning: str, column: str) -> float:
    """A figure of `small`."""
    header, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in small())
    row = next(line for line in lines if line[:3] == [task, str(size), tuning])
    return float(row[header.index(column)])


def small_mean(task: str, size: int, value: str, tuning: str = "lora", **point: float) -> float:
    """Mean over seeds of what rows of `small_data.py` have at a point of the grid: `targets`, `seconds`."""
    wanted = [row for row in rows("small-data.jsonl") if small_data.name_of(row["cell"]) == f"{task} {size} {tuning}"]
    return fmean(row[value] for row in wanted if small_data.point_of(row["cell"]) == point)


class Cosine:
    """The rows of `dlfa analyze cosine` for four languages."""

    LANGUAGES = ("de", "hi", "zh", "sw")
    STATES = (
        ("encoder: layer 12", "offline", "12"),
        ("`features`, `last`: layer 12", "ner-last", "fused"),
        ("`features`, DLFA 7: fused", "ner-7", "fused"),
        ("`lora`, `last`: layer 12", "ner-lora-last", "12"),
        ("`lora`, DLFA 7: layer 12", "ner-lora-7", "12"),
        ("`lora`, DLFA 7: fused", "ner-lora-7", "fused"),
    )

    def value(self, language: str, model: str, state: str, measure: str) -> float:
        """A measure of a state, without its interval."""
        return next(
            row[measure][0]
            for row in rows("parallel-cosine.jsonl")
            if (row["text"], row["model"], row["state"]) == (f"en-{language}", model, state)
        )

    def changes(self, new: tuple[str, str], old: tuple[str, str], measure: str) -> list[float]:
        """By how much a measure changes from one model's state to another's, in each language."""
        return [self.value(x, *new, measure) - self.value(x, *old, measure) for x in self.LANGUAGES]

    def widest(self, measure: str) -> float:
        """Half of the widest interval of a measure, over languages and the states of the trained models."""
        wanted = {(model, state) for _, model, state in self.STATES}
        intervals = [r[measure][1:] for r in rows("parallel-cosine.jsonl") if (r["model"], r["state"]) in wanted]
        return max(high - low for low, high in intervals) / 2

    def _line(self, name: str, model: str, state: str) -> list[str]:
        cells = [name]
        for language in self.LANGUAGES:
            cosine, others, found = (self.value(language, model, state, m) for m in ("cosine", "others", "retrieval"))
            cells += [f"{cosine:.3f}", f"{others:.3f}", f"{100 * found:.1f}"]
        return cells

    def _table(self, first: str, lines: list[list[str]]) -> list[str]:
        header = [first, *(f"{language} cosine | others | %" for language in self.LANGUAGES)]
        rule = "|---" + "|--:" * 3 * len(self.LANGUAGES) + "|"
        return ["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines)]

    def layers(self) -> list[str]:
        """A line for each layer of the encoder."""
        return self._table("layer", [self._line(str(k), "offline", str(k)) for k in range(13)])

    def models(self) -> list[str]:
        """A line for each state of the trained models."""
        return self._table("state", [self._line(*state) for state in self.STATES])


def targets_of(row: dict[str, Any]) -> float:
    """Mean over the target languages of a row of `tunings.py`."""
    return tunings.targets_of(row["scores"])


@cache
def names() -> dict[str, Any]:
    """What an expression may use."""
    ours: list[Callable[..., Any]] = [
        rows,
        small,
        small_cell,
        small_mean,
        speed_tables.cell,
        frozen_sweep_tables.within,
    ]
    functions = [*ours, fmean, median, stdev]
    return {function.__name__: function for function in functions} | {
        "ner": Frozen("ner"),
        "pos": Frozen("pos"),
        "ner_tunings": Tunings("ner"),
        "pos_tunings": Tunings("pos"),
        "parse_tunings": Tunings("parse", "parsing.jsonl"),
        "parsing": Tunings("parse", "parsing-uas.jsonl"),
        "beside_paper": freezing_tables.BesidePaper(rows),
        "freezing": freezing_tables.Freezing(rows),
        "earlier_ner": Tunings("ner", "tunings-default-rates.jsonl"),
        "earlier_pos": Tunings("pos", "tunings-default-rates.jsonl"),
        "cosine": Cosine(),
        "tatoeba": retrieval_tables.Retrieval("retrieval-sentences.jsonl", "retrieval", rows),
        "words": retrieval_tables.Retrieval("retrieval-words.jsonl", "mrr", rows),
        "alone": retrieval_tables.Retrieval("retrieval-words-alone.jsonl", "mrr", rows),
        "centred": retrieval_tables.Centred("centred-cosine.jsonl", rows),
        "shift_ner": shift_tables.Shift("ner", lambda: rows("language-shift.jsonl")),
        "shift_pos": shift_tables.Shift("pos", lambda: rows("language-shift.jsonl")),
        "shift_xnli": shift_tables.Shift("xnli", lambda: rows("language-shift.jsonl")),
        "freezing_xnli": Tunings("xnli", "freezing.jsonl"),
        "pretraining": pretraining_tables.Pretraining(rows),
        "pretraining_short": pretraining_tables.Pretraining(rows, "pretraining-short.jsonl"),
        "translation": translation_tables.Translation(rows),
        "language_id": language_tables.LanguageId(rows),
        "overlap": language_tables.Overlap(rows),
        "speed": speed_tables,
        "knowledge": knowledge_tables.Knowledge(rows("knowledge.jsonl")),
        "knowledge_scores": knowledge_tables.Knowledge(rows("knowledge.jsonl"), "scores"),
        "pawsx_long": knowledge_tables.Knowledge(rows("knowledge-pawsx-long.jsonl")),
        "known": knowledge_analysis_tables.Analyses(lambda: rows("knowledge-analyses.json")),
    }


def wrong(page: Path) -> Iterator[str]:
    """What is wrong with a page, a sentence each."""
    text, known = page.read_text("utf-8"), names()
    for found in MARKED.finditer(text):
        right = as_written(found, eval(found["expression"], known))
        if right != found["sign"] + found["digits"]:
            yield f"{page.name}: {found['sign']}{found['digits']} should be {right} by {found['expression']}"
    for found in TABLE.finditer(text):
        lines = list(eval(found["expression"], known))
        for there, right in zip(found["lines"].splitlines(), lines, strict=False):
            if there != right:
                yield f"{page.name}: the line {there!r} should be {right!r} by {found['expression']}"
        if len(found["lines"].splitlines()) != len(lines):
            yield f"{page.name}: the table of {found['expression']} should have {len(lines)} lines"
    if page.parent.name == "results":
        yield from (f"{page.name}: {sentence}" for sentence in without_marker(text))


def without_marker(text: str) -> Iterator[str]:
    """The figures of a page that do not say how they come about."""
    for line in NOT_FIGURES.sub(" ", MARKED.sub(" ", TABLE.sub("\n", text))).splitlines():
        figures = DECIMAL.findall(line)
        if line.startswith("|") and figures:
            yield f"a table without marker has {line!r}"
        elif not line.endswith(SETTINGS):
            yield from (f"{figure} has no marker" for figure in figures)


def as_written(found: re.Match[str], value: float) -> str:
    """A value with the sign, the decimals and the commas of the figure that stands there."""
    decimals = len(found["digits"].partition(".")[2])
    digits = f"{abs(value):{',' if ',' in found['digits'] else ''}.{decimals}f}"
    if not found["sign"]:
        return digits if value >= 0 else f"\u2212{digits}"
    return ("+" if value >= 0 else "\u2212") + digits


def write(page: Path) -> None:
    """Put the values of the rows into a page."""
    text, known = page.read_text("utf-8"), names()

    def figure(found: re.Match[str]) -> str:
        value = as_written(found, eval(found["expression"], known))
        return f"{value}{found['between']}<!--= {found['expression']} -->"

    def table(found: re.Match[str]) -> str:
        head = found[0][: found.start("lines") - found.start()]
        return head + "\n".join(eval(found["expression"], known)) + "\n" * (1 if found["lines"] else 2)

    page.write_text(TABLE.sub(table, MARKED.sub(figure, text)), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(arguments)
    if args.write:
        for page in args.pages:
            write(page)
    found = [sentence for page in args.pages for sentence in wrong(page)]
    counts = sum(len(MARKED.findall(page.read_text("utf-8"))) for page in args.pages)
    tables = sum(len(TABLE.findall(page.read_text("utf-8"))) for page in args.pages)
    print("\n".join([*found, f"{counts} figures and {tables} tables compared, {len(found)} wrong"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
