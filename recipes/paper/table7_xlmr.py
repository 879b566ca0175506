"""Table VII: PAWS-X, POS and NER on XLM-R: the last layer, and fusion at the layer that the paper prints as best.

    python recipes/paper/table7_xlmr.py                                     # all of XLM-R learns
    python recipes/paper/table7_xlmr.py --tuning features                   # a frozen encoder
    python recipes/paper/table7_xlmr.py --model xlm-roberta-large --tuning lora    # 24 blocks: layers are scaled
    python recipes/paper/table7_xlmr.py --data samples --model offline --tuning features --seeds 1 --tasks ner

Reproduces: Table VII of the DLFA paper (arXiv 2205.08497), fusion on XLM-R. It prints PAWS-X 6, POS 8 and NER 10 as the
best layers, while its text says that they equal those of multilingual BERT (PAWS-X 6, POS 10, NER 8): here both are
trained for POS and NER. XNLI is not in the table; `--tasks xnli` takes mBERT's layer, 11. `--layers` tries others.
Data: XTREME's four, from the hub; `--data FOLDER` is its download, with the folders panx, udpos, xnli and pawsx.
Time and memory: not measured here. A sweep that was cut short goes on when it is called again.
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
LAYERS = {"pawsx": (6,), "pos": (8, 10), "ner": (10, 8), "xnli": (11,)}  # of 12; scaled to other depths
SAMPLES = {"xnli": "samples:nli", "pawsx": "samples:pawsx", "ner": "samples:ner", "pos": "samples:pos"}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a sweep of few heads for each task, print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub", help="hub, samples, or the folder of XTREME's download")
    parser.add_argument("--tasks", nargs="+", default=["pawsx", "pos", "ner"], choices=HUB)
    parser.add_argument("--model", default="xlm-roberta-base", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="lora, or features, which freezes the encoder")
    parser.add_argument("--layers", nargs="+", type=int, help="default: the paper's, of the table and of its text")
    parser.add_argument("--split", default="test", help="`dev` where the test files have no labels")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: 5, and 10 for features and lora")
    parser.add_argument("--out", type=Path, default=Path("runs/table7"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    depth = load_encoder(args.model).model.config.num_hidden_layers
    for task in args.tasks:
        known = TASKS[task]
        scaled = [replace(known, fuse_layer_of_12=k).default_fuse_layer(depth) for k in LAYERS[task]]
        sweep = run_sweep(
            task,
            train_data={"hub": HUB, "samples": SAMPLES}.get(args.data, {}).get(task, args.data),
            languages=known.languages if args.data == "hub" else None,
            split=args.split,
            limit=args.limit,
            model=args.model,
            tuning=args.tuning,
            head_learning_rate=2e-5 if args.tuning == "full" else None,  # one rate for everything, as in the paper
            layers=args.layers or sorted({layer for layer in scaled if layer is not None}),
            seeds=args.seeds,
            epochs=args.epochs,
            out=args.out / f"{task}-{args.tuning.replace(':', '-')}",
        )

        # The last line, the control, fuses the last layer with itself: how far two equal heads lie apart.
        print(sweep_markdown(sweep.result, sweep.table))


if __name__ == "__main__":
    main()
