"""Rows behind docs/results/language-information.md: of what `dlfa analyze language-id` and `overlap` print as JSON.

    python benchmarks/language_information.py scores ner > ner-scores.json
    dlfa analyze overlap ner --train TRAIN --data TEST --limit 500 --scores ner-scores.json --json > ner.json
    dlfa analyze language-id --model offline --data TEXTS --json > udpos.json
    python benchmarks/language_information.py overlap ner.json pos.json > docs/results/raw/overlap.jsonl
    python benchmarks/language_information.py plot ner.json pos.json
    python benchmarks/language_information.py language-id udpos.json > docs/results/raw/language-id.jsonl

`scores` takes the scores by language out of docs/results/raw: means over seeds, at the epoch that was kept. A row's
`text` or `task` is the name of the file that it comes from. `plot` draws overlap against the scores of fine-tuning, as
the paper does, into `overlap-ner.svg` and so on.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

SIZES = ("train", "dev", "test")
FINE_TUNED = "full, last"


def scores(task: str) -> dict[str, dict[str, float]]:
    """By language: the baseline, the best layer alone and the best fusion, both picked on English dev; and fine-tuning.

    For parsing, tunings alone; for texts LoRA and the frozen encoder on the most labels of `small_data.py`.
    """
    import figures
    from frozen_sweep_tables import best_dev

    if task == "parse":
        return fine_tuned(figures.Tunings(task, "parsing.jsonl"), ("full", "last"), ("features", "dlfa@7"))
    if task not in ("ner", "pos"):
        rows = [row for row in figures.rows("small-data.jsonl") if row["cell"]["task"] == task and "error" not in row]
        most = max(row["cell"]["size"] for row in rows)
        return {
            f"{tuning}, {most:,} labels": {
                language: round(fmean(row["scores"][language] for row in found), 4) for language in found[0]["scores"]
            }
            for tuning in ("lora", "features")
            if (found := [row for row in rows if (row["cell"]["tuning"], row["cell"]["size"]) == (tuning, most)])
        }
    frozen = figures.Frozen(task)
    names = ("last", frozen.picked("layer *", range(12)), frozen.picked("norm layer D_*"))
    by_head = {
        name: {
            language: round(fmean(head["languages"][language][best_dev(head)] for head in frozen.by_name[name]), 4)
            for language in frozen.by_name[name][0]["languages"]
        }
        for name in names
    }
    return by_head | fine_tuned(figures.Tunings(task), ("full", "last"))


def fine_tuned(tunings: Any, *rows: tuple[str, str]) -> dict[str, dict[str, float]]:
    """By language: the means over seeds of some tunings and heads of `tunings.py`."""
    return {
        f"{tuning}, {head}": {
            language: round(tunings.language(tuning, head, language), 4) for language in tunings.rows[0]["scores"]
        }
        for tuning, head in rows
    }


def language_id_rows(path: Path) -> Iterator[dict[str, Any]]:
    """A row for each state of each model."""
    told = json.loads(path.read_text("utf-8"))
    for model in told["models"]:
        total = {part: sum(sizes[part] for sizes in model["sizes"].values()) for part in SIZES}
        for state in model["states"]:
            against = state["against"] or {}
            yield {
                "text": path.stem,
                "model": model["name"],
                "fusion": model["fusion"],
                "pooling": model["pooling"],
                **total,
                "state": state["state"],
                "accuracy": _of(state["accuracy"], "value", "low", "high"),
                "against": _of(against, "difference", "simultaneous_low", "simultaneous_high", "adjusted_p"),
                "rate": state["learning_rate"],
                "epoch": state["epoch"],
                "at_end": state["at_end"],
                "languages": {x: round(found["value"], 4) for x, found in state["languages"].items()},
                "mixed_up": state["mixed_up"],
            }


def overlap_rows(path: Path) -> Iterator[dict[str, Any]]:
    """A row for each language, and one for each correlation."""
    from dlfa_adapters.scores.groups import main_code

    told = json.loads(path.read_text("utf-8"))
    for each in told["languages"]:
        own = {name: by_language.get(main_code(each["language"])) for name, by_language in told["scores"].items()}
        numbers = {name: round(value, 3) if isinstance(value, float) else value for name, value in each.items()}
        yield {"task": path.stem, **numbers, "scores": own}
    for each in told["correlations"]:
        numbers = {name: round(value, 5) if isinstance(value, float) else value for name, value in each.items()}
        yield {"task": path.stem, **numbers, "languages": len(each["languages"])}


def plot(path: Path) -> None:
    """Draw what `dlfa analyze overlap` printed, for the scores of fine-tuning."""
    from dlfa_adapters.analysis.correlation import Correlation
    from dlfa_adapters.analysis.overlap import LanguageOverlap
    from dlfa_adapters.analysis.overlap_report import plot_overlap

    told = json.loads(path.read_text("utf-8"))
    overlaps = [LanguageOverlap(**each) for each in told["languages"]]
    found = [Correlation(**each) for each in told["correlations"]]
    plot_overlap(overlaps, {FINE_TUNED: told["scores"][FINE_TUNED]}, found, f"overlap-{path.stem}.svg")


def _of(values: dict[str, Any], *names: str) -> list[float] | None:
    return [round(values[name], 5) for name in names] if values else None


def main() -> None:
    """Print scores or rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scores", "language-id", "overlap", "plot"))
    parser.add_argument("names", nargs="+", help="a task, for `scores`; otherwise files of JSON")
    args = parser.parse_args()
    if args.what == "scores":
        print(json.dumps(scores(args.names[0]), indent=1))
        return
    if args.what == "plot":
        for name in args.names:
            plot(Path(name))
        return
    make = language_id_rows if args.what == "language-id" else overlap_rows
    for name in args.names:
        for row in make(Path(name)):
            print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
