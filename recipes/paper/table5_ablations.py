"""Table V: which parts of the fusion matter: both branches, two global ones, two local ones, the control.

    python recipes/paper/table5_ablations.py                      # the paper's setting: all of multilingual BERT learns
    python recipes/paper/table5_ablations.py --tuning features    # a frozen encoder: its states are computed once
    python recipes/paper/table5_ablations.py --data samples --model offline --tuning features --seeds 1 --tasks ner

Reproduces: Table V of the DLFA paper (arXiv 2205.08497), at its two layers of each task: XNLI 11 and 10, PAWS-X 10 and
6, NER 10 and 8, POS 11 and 10. As in its Fig. 4, a branch that is left out is replaced by a second one of the other
kind, so that all variants have equally many weights.
D_12, the control, sees no lower layer. `--also` adds what the paper does not have: gates, norms, init, reductions, mix.
Data: XTREME's four, from the hub; `--data FOLDER` is its download, with the folders panx, udpos, xnli and pawsx.
Time and memory: the last command with `--tasks pos --also mix` takes 30 s of processor time and 2.2 GB; multilingual
BERT was not measured here. A sweep that was cut short goes on when it is called again.
"""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.sweeps.show import sweep_markdown
from dlfa_adapters.tasks import TASKS

HUB = {"xnli": "hub:xnli", "pawsx": "hub:pawsx", "ner": "hub:panx", "pos": "hub:udpos"}
LAYERS = {"xnli": (11, 10), "pawsx": (10, 6), "ner": (10, 8), "pos": (11, 10)}  # of 12; scaled to other depths
SAMPLES = {"xnli": "samples:nli", "pawsx": "samples:pawsx", "ner": "samples:ner", "pos": "samples:pos"}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a sweep of few heads for each task, print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub", help="hub, samples, or the folder of XTREME's download")
    parser.add_argument("--tasks", nargs="+", default=list(HUB), choices=HUB)
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="features freezes the encoder")
    parser.add_argument("--also", nargs="+", default=[], help="further heads, see `dlfa sweep --help`")
    parser.add_argument("--split", default="test", help="`dev` where the test files have no labels")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: 5, and 10 for features")
    parser.add_argument("--out", type=Path, default=Path("runs/table5"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    depth = load_encoder(args.model).model.config.num_hidden_layers
    for task in args.tasks:
        known = TASKS[task]
        scaled = [replace(known, fuse_layer_of_12=k).default_fuse_layer(depth) for k in LAYERS[task]]
        layers = sorted({layer for layer in scaled if layer is not None})
        sweep = run_sweep(
            task,
            train_data={"hub": HUB, "samples": SAMPLES}.get(args.data, {}).get(task, args.data),
            languages=known.languages if args.data == "hub" else None,
            split=args.split,
            limit=args.limit,
            model=args.model,
            tuning=args.tuning,
            head_learning_rate=2e-5 if args.tuning == "full" else None,  # one rate for everything, as in the paper
            layers=layers,
            extra=[*(f"branches:{layer}" for layer in layers), *args.also],
            seeds=args.seeds,
            epochs=args.epochs,
            out=args.out / f"{task}-{args.tuning.replace(':', '-')}",
        )

        # D_k has both branches, `D_k global` two global ones, `D_k local` two local ones. The paper's means are those
        # over all languages.
        print(sweep_markdown(sweep.result, sweep.table))


if __name__ == "__main__":
    main()
