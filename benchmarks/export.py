"""An exported model against the run that it was made of, on the CPU: size, seconds to load, seconds to tag, tags.

    dlfa export runs/ner-demo onnx/ner.onnx
    python benchmarks/export.py runs/ner-demo onnx/ner.onnx download/panx --limit 50 --out export.json

The folder has `<language>/dev.tsv` (word, tab, tag). Both sides take the same words, from words in memory to tags, in
one thread, language by language in turn. Loading is measured in processes of their own, imports included.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import onnxruntime
import torch
from measuring import as_ratio, finish, machine

from dlfa_adapters import load_run
from dlfa_adapters.data.readers import read_file


def loading(code: str, *arguments: object) -> float:
    """Processor seconds of a process that loads a model; the median of three."""
    seconds = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return median(seconds)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its processor seconds."""
    start = time.process_time()
    return call(), time.process_time() - start


def main() -> None:
    """Load, tag, compare, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--languages", type=int, default=20, help="the first so many")
    parser.add_argument("--limit", type=int, default=50, help="sentences a language")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(args.onnx.parent))
    from dlfa_onnx import load

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sides = {"the run, PyTorch": load_run(args.run), "the ONNX file": load(args.onnx, sess_options=options)}
    folders = sorted(path.parent for path in args.data.glob("*/dev.tsv"))[: args.languages]
    data = [[item.words for item in read_file(folder / "dev.tsv").items[: args.limit]] for folder in folders]
    said: dict[str, list[Any]] = {name: [] for name in sides}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side.predict(data[0])  # not counted
    for sentences in data:
        for name, side in sides.items():
            tags, seconds = timed(partial(side.predict, sentences))
            said[name] += [tag for row in tags for tag in row]
            times[name].append(seconds)
    differ = sum(a != b for a, b in zip(*said.values(), strict=True))
    load_it = "import sys; sys.path.insert(0, sys.argv[1]); from dlfa_onnx import load; load(sys.argv[2])"
    starts = {
        "the run, PyTorch": loading("import sys; from dlfa_adapters import load_run; load_run(sys.argv[1])", args.run),
        "the ONNX file": loading(load_it, args.onnx.parent, args.onnx),
    }
    rows = [
        [name, f"{starts[name]:.1f}", f"{sum(seconds):.1f}", as_ratio(seconds, times["the run, PyTorch"])]
        for name, seconds in times.items()
    ]
    header = ["side", "to load, CPU s", "to tag, CPU s", "against PyTorch"]
    words = sum(len(row) for sentences in data for row in sentences)
    title = f"An exported model, {args.onnx.stat().st_size / 1e6:.0f} MB; {differ} of {words} tags differ"
    told = {"benchmark": title, "machine": machine(), "arguments": vars(args)}
    finish({**told, "header": header, "rows": rows, "seconds": times, "loading": starts}, args.out)


if __name__ == "__main__":
    main()
