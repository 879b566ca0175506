"""Tables (Markdown, on stdout) and plots of what `frozen_sweep.py` wrote.

    python benchmarks/frozen_sweep_tables.py docs/results/raw/ner-core.json docs/results/raw/ner-controls.json \
        --plots docs/results/ner

Scores are means over the target languages, English left out; `±` is the standard deviation over seeds.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

Head = dict[str, Any]
Rule = Callable[[Head], int]


def target_mean(head: Head, epoch: int) -> float:
    """Mean over the target languages after an epoch (from 0)."""
    return fmean(scores[epoch] for language, scores in head["languages"].items() if language != "en")


def best_dev(head: Head) -> int:
    """The epoch that is best on English dev."""
    return max(range(len(head["dev"])), key=head["dev"].__getitem__)


def within(points: float) -> Rule:
    """The first epoch whose English dev score is at most some points below the best one."""
    return lambda head: next(e for e, score in enumerate(head["dev"]) if score >= max(head["dev"]) - points)


def oracle(head: Head) -> int:
    """The epoch that is best on the target languages, which needs their labels."""
    return max(range(len(head["dev"])), key=lambda epoch: target_mean(head, epoch))


RULES: dict[str, Rule] = {
    "epoch 1": lambda head: 0,
    "epoch 2": lambda head: 1,
    "epoch 3": lambda head: 2,
    "best on English dev": best_dev,
    "first within 1 point of it": within(1),
    "first within 2 points of it": within(2),
    "best on the targets (not allowed)": oracle,
}


def by_name(results: list[dict[str, Any]]) -> dict[str, list[Head]]:
    """Heads that differ in the seed alone, together; of a head that is in several files, the first."""
    heads: dict[str, Head] = {}
    for result in results:
        for head in result["heads"]:
            heads.setdefault(head["name"], head)
    groups = defaultdict(list)
    for name, head in heads.items():
        groups[name.split(" | ")[0]].append(head)
    return dict(groups)


def spread(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{fmean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def print_heads(groups: dict[str, list[Head]]) -> None:
    """One row a head: targets and English at the epoch that is best on English dev, and the difference to `last`."""
    base = groups.get("last")
    print("| head | seeds | targets | English | against `last` |\n|---|---|---|---|---|")
    for name, heads in groups.items():
        targets = [target_mean(head, best_dev(head)) for head in heads]
        english = [head["languages"]["en"][best_dev(head)] for head in heads]
        against = ""
        if base and name != "last":
            paired = [target - target_mean(b, best_dev(b)) for target, b in zip(targets, base, strict=False)]
            against = f"{fmean(paired):+.1f}"
        print(f"| {name} | {len(heads)} | {spread(targets)} | {spread(english)} | {against} |")


def print_rules(groups: dict[str, list[Head]]) -> None:
    """What each stopping rule gives on the targets, over all D_4..D_9."""
    names = [f"{gate} D_{layer}" for gate in ("attention", "product") for layer in range(4, 10)]
    print("\n| rule | " + " | ".join(("attention", "product")) + " | mean epoch |\n|---|---|---|---|")
    for rule, choose in RULES.items():
        cells = []
        for gate in ("attention", "product"):
            heads = [head for name in names if name.startswith(gate) for head in groups[name]]
            cells.append(f"{fmean(target_mean(head, choose(head)) for head in heads):.1f}")
        epochs = fmean(choose(head) + 1 for name in names for head in groups[name])
        print(f"| {rule} | {' | '.join(cells)} | {epochs:.1f} |")


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
    groups = by_name(results)
    print_heads(groups)
    if any(name.startswith("attention D_") for name in groups):
        print_rules(groups)
    if args.plots:
        plot(groups, args.plots, {"ner": "span F1", "pos": "accuracy"}[results[0]["arguments"]["task"]])


if __name__ == "__main__":
    main()
