"""What `knowledge.py --analyses` measured, put together as one record; and the maps of Figure 1 of XMULTI.

    python benchmarks/knowledge_analyses.py WORK/analyses --out knowledge-analyses.json --plot knowledge-updates.svg

The tables are in `knowledge_analysis_tables.py`.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from knowledge_tables import TASKS

SHOWN = 4
"""Decimals that are kept of maps."""


def short(name: str) -> str:
    """`pos-cross` of `/some/place/pos-cross-0.0001-0`."""
    return re.sub(r"-(?:0\.\d+|\d+e-\d+)-\d+$", "", Path(name).name)


def gather(folder: Path) -> dict[str, Any]:
    """One record of all files of a folder that `knowledge.py --analyses` wrote."""

    def read(name: str) -> Any:
        return json.loads((folder / f"{name}.json").read_text("utf-8"))

    def rounded(values: list[list[float]], digits: int) -> list[list[float]]:
        return [[round(value, digits) for value in row] for row in values]

    def pair(found: dict[str, Any]) -> dict[str, Any]:
        return {"a": short(found["a"]), "b": short(found["b"])}

    updates = read("head-updates")
    heads = {task: read(f"head-probing-{task}") for task in TASKS}
    probing = [
        {"model": short(cell["model"]), "task": cell["task"], "own": cell["is_own"]}
        | {
            key: round(100 * cell["difference"][key], 2)
            for key in ("a", "b", "difference", "low", "high", "simultaneous_low", "simultaneous_high")
        }
        for task in TASKS
        for cell in read(f"probing-{task}")["cells"]
    ]
    perplexity = [
        {"task": task, **each, "model": short(each["model"])}
        for task in TASKS
        for each in read(f"perplexity-{task}")["models"]
    ]
    for each in perplexity:
        del each["empty"]
    return {
        "updates": {short(each["name"]): rounded(each["values"], SHOWN) for each in updates["models"]},
        "updates_compared": [
            {**pair(each), "rho": round(each["rho"], SHOWN), "p_value": each["p_value"]} for each in updates["compared"]
        ],
        "heads": {
            task: {short(each["name"]): rounded(each["scores"], 2) for each in found["models"]}
            for task, found in heads.items()
        },
        "overlaps": {task: [{**each, **pair(each)} for each in found["overlaps"]] for task, found in heads.items()},
        "probing": probing,
        "perplexity": perplexity,
        "sizes": {task: found["models"][0]["sizes"] for task, found in heads.items()},
        "head_rates_at_the_highest": {
            task: {short(each["name"]): each["edges"].count("highest") for each in found["models"]}
            for task, found in heads.items()
        },
    }


def draw_updates(found: dict[str, Any], path: Path) -> None:
    """Figure 1: of each task the map of cross, of multi, and multi minus cross."""
    import matplotlib
    import numpy as np

    from dlfa_adapters.analysis.maps import draw_heads
    from dlfa_adapters.ground.plots import plotted

    with matplotlib.rc_context({"svg.hashsalt": "knowledge", "svg.fonttype": "none"}), plotted(path, (9, 10)) as figure:
        grid = figure.subplots(len(TASKS), 3)
        for row, (task, name) in zip(grid, TASKS.items(), strict=True):
            cross, multi = (np.array(found["updates"][f"{task}-{system}"]) for system in ("cross", "multi"))
            draw_heads(figure, row[0], cross, f"{name}, cross")
            draw_heads(figure, row[1], multi, f"{name}, multi")
            draw_heads(figure, row[2], multi - cross, f"{name}, multi minus cross", differences=True)


def main() -> None:
    """Put together, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("analyses", type=Path, help="WORK/analyses, or the file that --out wrote")
    parser.add_argument("--out", type=Path, default=None, help="the record")
    parser.add_argument("--plot", type=Path, default=None, help="the maps of Figure 1")
    args = parser.parse_args()
    found = gather(args.analyses) if args.analyses.is_dir() else json.loads(args.analyses.read_text("utf-8"))
    if args.out:
        args.out.write_text(json.dumps(found), "utf-8")
    if args.plot:
        draw_updates(found, args.plot)


if __name__ == "__main__":
    main()
