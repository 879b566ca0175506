"""Table II: the last layer and its fusions D_1 to D_12 on XNLI, PAWS-X, NER and POS.

    python recipes/paper/table2_sweep.py                        # the paper's setting: all of multilingual BERT learns
    python recipes/paper/table2_sweep.py --tuning features      # a frozen encoder: its states are computed once
    python recipes/paper/table2_sweep.py --data samples --model offline --tuning features --seeds 1    # no hub, no GPU

Reproduces: Table II of the DLFA paper (arXiv 2205.08497), whose best layers are XNLI 11, PAWS-X 6, NER 8 and POS 10.
Its abstract has +1.5 % on XNLI, +2.4 % on PAWS-X, +1.2 F1 on NER and +1.5 F1 on POS. Here every head has several seeds,
and differences are between runs that saw the same batches. D_12 fuses the last layer with itself: equation (4) then
gives that layer whatever the weight, so what lies between D_12 and `last` is the noise of the runs. POS is accuracy.
Data: XTREME's four, from the hub; `--data FOLDER` is its download, with the folders panx, udpos, xnli and pawsx.
Time and memory: the last command with `--seeds 2 --tasks xnli pos` takes 83 s of processor time and 2.5 GB;
multilingual BERT was not measured here. A sweep that was cut short goes on when it is called again.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.tasks import TASKS

HUB = {"xnli": "hub:xnli", "pawsx": "hub:pawsx", "ner": "hub:panx", "pos": "hub:udpos"}
SAMPLES = {"xnli": "samples:nli", "pawsx": "samples:pawsx", "ner": "samples:ner", "pos": "samples:pos"}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a sweep for each task, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub", help="hub, samples, or the folder of XTREME's download")
    parser.add_argument("--tasks", nargs="+", default=list(HUB), choices=HUB)
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="features freezes the encoder")
    parser.add_argument("--layers", nargs="+", type=int, help="default: all")
    parser.add_argument("--split", default="test", help="`dev` where the test files have no labels")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: 5, and 10 for features")
    parser.add_argument("--out", type=Path, default=Path("runs/table2"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    # One sweep for each task. English dev data choose the epoch of each head; target languages choose nothing.
    tables = {}
    for task in args.tasks:
        tables[task] = run_sweep(
            task,
            train_data={"hub": HUB, "samples": SAMPLES}.get(args.data, {}).get(task, args.data),
            languages=TASKS[task].languages if args.data == "hub" else None,
            split=args.split,
            limit=args.limit,
            model=args.model,
            tuning=args.tuning,
            head_learning_rate=2e-5 if args.tuning == "full" else None,  # one rate for everything, as in the paper
            layers=args.layers,
            seeds=args.seeds,
            epochs=args.epochs,
            out=args.out / f"{task}-{args.tuning.replace(':', '-')}",
        ).table

    # The mean over all languages, English among them as in the paper, and its standard deviation over seeds. In
    # brackets: the difference to `last`, with a bootstrap interval that holds for all heads of a task at once.
    print("| | " + " | ".join(f"{task}, {table.title}" for task, table in tables.items()) + " |")
    print("|---" + "|---:" * len(tables) + "|")
    for name in [line.name for line in next(iter(tables.values())).lines]:
        cells = []
        for table in tables.values():
            line = table.line(name)
            mean, spread = line.means["all"].value, line.spread["all"]
            against = line.against["all"].get("last")
            cell = f"{mean:.1f}" + ("" if spread is None else f" ± {spread:.1f}")
            if against is not None:
                low, high = against.ends
                cell += f" ({against.difference:+.1f} [{low:+.1f}, {high:+.1f}])"
            cells.append(cell)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
