"""What it is worth that frozen blocks run once: `freeze:N` from cached states against through all blocks.

    python benchmarks/from_block.py --out speed-from-block-cpu.json

The offline encoder, the first 300 English sentences of the NER samples and 100 of their dev split, 3 epochs in batches
of 32; a tagging head with DLFA at layer 11. Both ways run in turn, in an order that changes. *Steps* are forward,
backward and optimiser, an epoch's all but its first step; an *epoch* is from the end of one to the end of the next,
with dev scored and a checkpoint written; *training* is all of it, the computing of states and the saved run included,
but not the loading of encoder and data.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import as_ratio, finish, machine

WAYS = ("cached", "through")


def train_once(bottom: int, way: str, sentences: int, epochs: int) -> dict[str, Any]:
    """Processor seconds of the steps of each epoch, of each epoch after the first, and of the training."""
    from dlfa_adapters.data.sources import load_source
    from dlfa_adapters.learning import train

    data = {}
    for split, limit in (("train", sentences), ("dev", sentences // 3)):
        found = load_source("samples:ner", "ner", split, ["en"]).dataset
        data[f"{split}_data"] = found.select(range(min(limit, len(found))))
    steps: list[list[float]] = [[]]
    ends, began = [], []

    def on_epoch(number: int) -> None:
        ends.append(time.process_time())
        steps.append([])

    with tempfile.TemporaryDirectory() as place:
        run = train(
            "ner", **data, language="en", tuning=f"freeze:{bottom}", states=way, fuse_layer=11, epochs=epochs,
            out=f"{place}/run", on_start=lambda plan: began.append(time.process_time()),
            on_step=lambda number: steps[-1].append(time.process_time()), on_epoch=on_epoch,
        )  # fmt: skip
        end = time.process_time()
    return {
        "steps": [part[-1] - part[0] for part in steps if len(part) > 1],
        "epochs": [after - before for before, after in pairwise(ends)],
        "training": [end - began[0]],
        "dev": run.config["metrics"]["dev"]["en"],
    }


def row_of(bottom: int, results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A line of the table."""
    cached, through = ([result for result in results[way]] for way in WAYS)

    def times(found: Sequence[dict[str, Any]], what: str) -> list[float]:
        return [seconds for result in found for seconds in result[what]]

    return [
        f"freeze:{bottom}",
        *(as_ratio(times(cached, what), times(through, what)) for what in ("steps", "epochs", "training")),
        f"{max(abs(a['dev'] - b['dev']) for a, b in zip(cached, through, strict=True)):.2f}",
    ]


def main() -> None:
    """Train both ways in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bottoms", default="6,9,3")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    order, rows, everything = random.Random(0), [], {}
    train_once(11, "cached", 40, 2)  # whatever is loaded on first use
    for bottom in map(int, args.bottoms.split(",")):
        results: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(args.rounds):
            for way in order.sample(WAYS, 2):
                results[way].append(train_once(bottom, way, args.sentences, args.epochs))
        rows.append(row_of(bottom, results))
        everything[bottom] = results
        print(*rows[-1], flush=True)
    header = ["tuning", "steps, cached / through", "epoch", "training", "dev F1 differs by"]
    about = {"benchmark": "From cached states of a block", "machine": machine(), "arguments": vars(args)}
    finish({**about, "header": header, "rows": rows, "results": everything}, args.out)


if __name__ == "__main__":
    main()
