"""Table III: what fusion is worth in the family of English and outside of it.

    python recipes/paper/table3_families.py                         # after table2_sweep: reads what it has trained
    python recipes/paper/table3_families.py --tuning features       # likewise
    python recipes/paper/table3_families.py --data samples --model offline --tuning features --seeds 1 --tasks xnli

Reproduces: Table III of the DLFA paper (arXiv 2205.08497): enf, which the paper counts as English and German, against
noenf, the other languages; the baseline against two layers of each task, XNLI 11 and 8, PAWS-X 10 and 6. The paper
has these groups for these two tasks. For NER and POS, and with `--families`, it is the languages that are
Indo-European, as English is, against all others.
Data: XTREME's four, as for table2_sweep. The sweeps of `--out` are used where they are there, and trained otherwise.
Time and memory: those of table2_sweep the first time, minutes afterwards; not measured here for multilingual BERT.
"""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.tasks import TASKS

HUB = {"xnli": "hub:xnli", "pawsx": "hub:pawsx", "ner": "hub:panx", "pos": "hub:udpos"}
LAYERS = {"xnli": (11, 8), "pawsx": (10, 6), "ner": (10, 8), "pos": (11, 10)}  # of 12; scaled to other depths
SAMPLES = {"xnli": "samples:nli", "pawsx": "samples:pawsx", "ner": "samples:ner", "pos": "samples:pos"}


def main(argv: Sequence[str] | None = None) -> None:
    """Run or read a sweep for each task, print the two groups of languages side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub", help="hub, samples, or the folder of XTREME's download")
    parser.add_argument("--tasks", nargs="+", default=["xnli", "pawsx"], choices=HUB)
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="features freezes the encoder")
    parser.add_argument("--families", action="store_true", help="split by family instead of as the paper does")
    parser.add_argument("--split", default="test", help="`dev` where the test files have no labels")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: 5, and 10 for features")
    parser.add_argument("--out", type=Path, default=Path("runs/table2"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    print("| task | languages | head | last | head | difference | 95 % | p |\n|---|---|---|---:|---:|---:|---:|---:|")
    for task in args.tasks:
        known = TASKS[task]
        sweep = run_sweep(
            task,
            train_data={"hub": HUB, "samples": SAMPLES}.get(args.data, {}).get(task, args.data),
            languages=known.languages if args.data == "hub" else None,
            split=args.split,
            limit=args.limit,
            model=args.model,
            tuning=args.tuning,
            head_learning_rate=2e-5 if args.tuning == "full" else None,  # one rate for everything, as in the paper
            seeds=args.seeds,
            epochs=args.epochs,
            out=args.out / f"{task}-{args.tuning.replace(':', '-')}",
        )

        # The line of a layer has a mean for each group of languages, and its difference to the baseline with a paired
        # bootstrap interval.
        layers = [replace(known, fuse_layer_of_12=k).default_fuse_layer(sweep.result.num_layers) for k in LAYERS[task]]
        paper = not args.families and task in ("xnli", "pawsx")
        for fused in (sweep.table.line(f"D_{layer}") for layer in dict.fromkeys(layers)):
            for name in ("enf_paper", "noenf_paper") if paper else ("enf_family", "noenf_family"):
                if name in sweep.table.groups:
                    found = fused.against[name]["last"]
                    scores = [f"{found.a:.1f}", f"{found.b:.1f}", f"{found.difference:+.1f}"]
                    scores += [f"[{found.low:+.1f}, {found.high:+.1f}]", f"{found.p_value:.3f}"]
                    print("| " + " | ".join([task, sweep.table.groups[name].title, fused.name, *scores]) + " |")


if __name__ == "__main__":
    main()
