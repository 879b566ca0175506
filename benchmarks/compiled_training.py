"""What `torch.compile` is worth in training: for the fusion, as `dlfa train --compile`, and for the whole model.

    python benchmarks/compiled_training.py --device cuda --out compiled-training-gpu.json

A training of an encoder of BERT's kind, 12 x 768 with a vocabulary of 5,000, with a DLFA head for NER, in a process of
its own for each way: batches of 32 sentences of exactly 128 pieces, the only shape that there is. Given are the first
step, which compiles, and the mean of the last sixty. The whole model is compiled by Trainer's `torch_compile`.
Real sentences have many shapes, and Trainer compiles the whole model anew for several of them.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from measuring import finish, machine
from memory import make_encoder

WAYS = ("eager", "fusion", "whole")
STEPS, KEPT = 120, 60


def train_once(way: str, tuning: str) -> list[float]:
    """Seconds of each step."""
    from dlfa_adapters.learning import run as training
    from dlfa_adapters.learning.arguments import training_arguments

    def compiling(*args: Any, **options: Any) -> Any:
        return training_arguments(*args, **{**options, "compile_model": True})

    times: list[float] = []

    def progress(stage: str, done: int, total: int) -> None:
        times.extend([time.perf_counter()] * (stage == "Training"))  # the first time when the encoder is there

    words = [f"w{i}" for i in range(126)]
    items = [(words, ["B-PER"] + ["O"] * 125)] * (32 * STEPS)
    with tempfile.TemporaryDirectory() as place:
        make_encoder(Path(place) / "encoder", argparse.Namespace(vocabulary=5000, layers=12, count=False))
        with mock.patch.object(training, "training_arguments", compiling if way == "whole" else training_arguments):
            training.train(
                "ner", train_data=items, language="en", model=f"{place}/encoder", tuning=tuning, out=f"{place}/run",
                batch_size=32, max_length=128, epochs=1, compile=way == "fusion", progress=progress,
            )  # fmt: skip
    return [after - before for before, after in itertools.pairwise(times)]


def main() -> None:
    """Train in each way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--tunings", default="lora,full")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(*train_once(*args.child))
        return
    rows = []
    for tuning in args.tunings.split(","):
        for way in args.ways.split(","):
            command = [sys.executable, __file__, "--child", way, tuning]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            seconds = [float(part) for part in done.stdout.splitlines()[-1].split()]
            rows.append([tuning, way, f"{seconds[0]:.1f}", f"{1000 * sum(seconds[-KEPT:]) / KEPT:.1f}"])
            print(*rows[-1], flush=True)
    header = ["tuning", "compiled", "first step, s", "later, ms a step"]
    told = {"benchmark": "Compiled training", "machine": machine(args.device), "arguments": vars(args)}
    finish({**told, "header": header, "rows": rows}, args.out)


if __name__ == "__main__":
    main()
