"""Tables (Markdown, on stdout) and plots of what `frozen_sweep.py` wrote.

    python benchmarks/frozen_sweep_tables.py docs/results/raw/ner-*.json --plots docs/results/ner

Scores are means over the target languages, English left out; `±` is the standard deviation over seeds. `!` behind a
learning rate: it is the lowest or the highest that was tried.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

Head = dict[str, Any]
Result = dict[str, Any]
Rule = Callable[[Head], int]

POINTS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Of the rules that stop at the first epoch within so many points of the best English dev score."""

FOUND_ON = "core"
"""The group of heads on which the number of points is chosen, with one half of the languages."""


def targets(head: Head) -> list[str]:
    """The target languages, by name."""
    return sorted(language for language in head["languages"] if language != "en")


def target_mean(head: Head, epoch: int, languages: Collection[str] | None = None) -> float:
    """Mean over target languages, all if none are named, after an epoch (from 0)."""
    return fmean(head["languages"][language][epoch] for language in languages or targets(head))


def best_dev(head: Head) -> int:
    """The epoch that was kept: the best on English dev, and among equal ones the one of the lowest dev loss."""
    return int(head["epoch"]) - 1


def within(points: float) -> Rule:
    """The first epoch whose English dev score is at most some points below the best one."""
    return lambda head: next(e for e, score in enumerate(head["dev"]) if score >= max(head["dev"]) - points)


def by_name(results: list[Result]) -> dict[str, list[Head]]:
    """Heads that differ in the seed alone, together; of a head that is in several files, the first."""
    groups: dict[str, list[Head]] = defaultdict(list)
    seen = set()
    for result in results:
        for head in result["heads"]:
            if (key := (head["name"], head["seed"])) not in seen:
                seen.add(key)
                groups[head["name"]].append(head)
    return dict(groups)


def group_of(result: Result) -> str:
    """The group of heads that a file holds."""
    return str(result["arguments"]["groups"][0])


def spread(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{fmean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def rate(name: str, heads: list[Head], results: list[Result]) -> str:
    """The learning rate of a head, marked where it is at an end of what was tried."""
    tried = next((list(map(float, r["trials"][name])) for r in results if name in r.get("trials", {})), [])
    own = heads[0]["rate"]
    return f"{own:g}" + ("!" if len(tried) > 1 and own in (min(tried), max(tried)) else "")


def heads_table(results: list[Result]) -> list[str]:
    """One row a head: its rate, targets and English at the epoch that was kept, and the difference to `last`."""
    groups = by_name(results)
    base = groups.get("last")
    lines = ["| head | rate | epoch | dev | targets | English | against `last` |", "|---|---|---|---|---|---|---|"]
    for name, heads in groups.items():
        scores = [target_mean(head, best_dev(head)) for head in heads]
        english = [head["languages"]["en"][best_dev(head)] for head in heads]
        dev = [head["dev"][best_dev(head)] for head in heads]
        against = ""
        if base and name != "last":
            of_base = {b["seed"]: target_mean(b, best_dev(b)) for b in base}
            paired = [s - of_base[h["seed"]] for s, h in zip(scores, heads, strict=True) if h["seed"] in of_base]
            against = f"{fmean(paired):+.1f}" if paired else ""
        cells = [rate(name, heads, results), f"{fmean(head['epoch'] for head in heads):.1f}", f"{fmean(dev):.1f}"]
        lines.append(f"| {name} | {' | '.join(cells)} | {spread(scores)} | {spread(english)} | {against} |")
    return lines


class Rules:
    """What it is worth to stop early: found on some heads and languages, judged on others.

    The rule is the number of points that gives the best mean on the core heads with every other target language. It is
    judged on the remaining languages, for each group of heads, against the epoch that is best on English dev. A head
    wins where the mean over its seeds is higher by 0.05 points at least.

    Args:
        results: Files of one task, the core heads among them.

    Attributes:
        found: Languages that the rule is found on.
        judged: Languages that it is judged on.
        points: The rule: within so many points of the best English dev score.
    """

    def __init__(self, results: list[Result]) -> None:
        self._groups = {group_of(result): list(by_name([result]).items()) for result in results}
        if FOUND_ON not in self._groups:
            raise SystemExit(f"No stopping rule: there are no {FOUND_ON} heads to find it on.")
        languages = targets(self._groups[FOUND_ON][0][1][0])
        self.found, self.judged = languages[::2], languages[1::2]
        self.points = max(POINTS, key=lambda points: self.of_group(FOUND_ON, within(points), self.found))

    def of_group(self, group: str, rule: Rule, languages: Collection[str] | None = None) -> float:
        """The mean over the heads of a group, on the languages that judge if none are named."""
        return fmean(self._mean(heads, rule, languages or self.judged) for _, heads in self._groups[group])

    def gains(self, group: str) -> list[float]:
        """What the rule is worth for each head of a group."""
        rule = within(self.points)
        return [self._mean(heads, rule) - self._mean(heads, best_dev) for _, heads in self._groups[group]]

    def _mean(self, heads: list[Head], rule: Rule, languages: Collection[str] | None = None) -> float:
        return fmean(target_mean(head, rule(head), languages or self.judged) for head in heads)

    def _oracle(self, group: str) -> float:
        """The epoch that is best on the languages themselves."""
        return fmean(
            fmean(max(target_mean(head, e, self.judged) for e in range(len(head["dev"]))) for head in heads)
            for _, heads in self._groups[group]
        )

    def table(self) -> list[str]:
        """A line for each group of heads."""
        shown = [self.points, *(points for points in (1.0, 2.0) if points != self.points)]
        header = ["heads", "", "best on dev", *(f"within {p:g}" for p in shown), "best epoch (not allowed)"]
        header += ["won", "lost", "equal"]
        lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
        for group, variants in self._groups.items():
            gains = self.gains(group)
            won, lost = sum(gain >= 0.05 for gain in gains), sum(gain <= -0.05 for gain in gains)
            scores = [self.of_group(group, rule) for rule in (best_dev, *map(within, shown))]
            cells = [f"{score:.1f}" for score in (*scores, self._oracle(group))]
            cells += [str(count) for count in (won, lost, len(gains) - won - lost)]
            lines.append(f"| {group} | {len(variants)} | {' | '.join(cells)} |")
        return lines


def plot(groups: dict[str, list[Head]], stem: Path, metric: str) -> None:
    """Scores by layer with the range over seeds, and a heat map of layers and languages."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for kind, marker in (("attention D_", "o"), ("product D_", "s"), ("layer ", "^"), ("concat ", "x")):
        layers = sorted(int(name.removeprefix(kind)) for name in groups if name.startswith(kind))
        if not layers:
            continue
        values = [[target_mean(head, best_dev(head)) for head in groups[f"{kind}{k}"]] for k in layers]
        line = axes.plot(layers, [fmean(v) for v in values], marker=marker, ms=4, label=kind.rstrip(" D_"))
        axes.fill_between(
            layers, [min(v) for v in values], [max(v) for v in values], color=line[0].get_color(), alpha=0.2
        )
    base = fmean(target_mean(head, best_dev(head)) for head in groups["last"])
    axes.axhline(base, color="black", lw=1, ls="--", label="last layer")
    axes.set(xlabel="layer k", ylabel=f"{metric}, mean over target languages", xticks=range(13))
    axes.legend(fontsize=8)
    figure.savefig(f"{stem}-layers.svg")

    languages = sorted(groups["last"][0]["languages"])
    names = ["last", *(f"attention D_{k}" for k in range(1, 13))]
    table = [
        [fmean(head["languages"][lang][best_dev(head)] for head in groups[name]) for name in names]
        for lang in languages
    ]
    figure, axes = plt.subplots(figsize=(6, 0.22 * len(languages) + 1), layout="constrained")
    image = axes.imshow(table, aspect="auto", cmap="viridis")
    axes.set_xticks(range(13), ["last", *(f"D_{k}" for k in range(1, 13))], fontsize=7)
    axes.set_yticks(range(len(languages)), languages, fontsize=7)
    figure.colorbar(image, label=metric)
    figure.savefig(f"{stem}-languages.svg")


def main() -> None:
    """Print and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--plots", type=Path)
    args = parser.parse_args()
    results = [json.loads(path.read_text("utf-8")) for path in args.results]
    print("\n".join(heads_table(results)))
    rules = Rules(results)
    print(
        f"\nOf the first epochs within {', '.join(f'{p:g}' for p in POINTS)} points of the best on English dev, "
        f"{rules.points:g} is best on the {FOUND_ON} heads and {' '.join(rules.found)}; on {' '.join(rules.judged)}:\n"
    )
    print("\n".join(rules.table()))
    if args.plots:
        plot(by_name(results), args.plots, {"ner": "span F1", "pos": "accuracy"}[results[0]["arguments"]["task"]])


if __name__ == "__main__":
    main()
