"""Every tuning on every task: that it trains and reloads, and how well it does, with time, memory and trainable share.

    python benchmarks/tunings.py --steps 3 --out smoke.jsonl

trains each tuning for three steps on the samples of each task with the offline encoder, and compares the logits of the
trained model with those that a new process gets from its run folder.

    python benchmarks/tunings.py --data-ner PANX --data-pos UDPOS --fuse-layer 7 --language-adapters ADAPTERS

trains on all English data and scores target languages, each with the last layer alone and with DLFA at the fuse layer.
PANX holds `<language>/train.tsv`, `dev.tsv`, `test.tsv`, UDPOS `train-en.tsv`, `dev-en.tsv`, `test-<language>.tsv`; a
language without labelled test data is scored on dev, which the table marks with *. Training and selection see English
alone. ADAPTERS holds a folder of `dlfa train-language` for each language (`en`, `de`...), for the tuning `stack`, which
is left out without them.

Every cell is a process of its own, and a row of the file `--out` as soon as it is done; what is in the file is not done
again. `--gpus 4 --at-once 2` runs two cells on each of four GPUs. `--table FILE` prints the tables of a file.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from measuring import machine, table

CELL = Path(__file__).with_name("tunings_cell.py")
SAMPLES = {"ner": "samples:ner", "pos": "samples:pos", "xnli": "samples:nli", "pawsx": "samples:pawsx"}
TUNINGS = ("full", "freeze:6", "lora", "peft-lora", "bottleneck", "stack", "features", "features/bilstm")
REAL_TUNINGS = ("full", "freeze:6", "lora", "bottleneck", "stack", "features", "features/bilstm")
LANGUAGES = {
    "ner": "de,es,fr,nl,pl,pt,ru,sw,yo,ar,hi,tr,zh",
    "pos": "de,es,fr,nl,pt,ru,yo,ar,el,et,eu,he,hi,id,ja,ko,th,tr,vi,zh",
}


def cells(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is to be run."""
    if args.data_ner or args.data_pos:
        yield from real_cells(args)
        return
    for task in args.tasks or SAMPLES:
        for tuning in args.tunings or TUNINGS:
            name, _, head = tuning.partition("/")
            yield {
                "task": task,
                "tuning": f"stack:{args.language_adapters}/en" if name == "stack" else name,
                "head": head or "dlfa",
                "data": SAMPLES[task],
                "limit_train": args.steps * 8,
                "limit_dev": 32,
                "model": args.model,
                "options": {"batch_size": 8, "epochs": 1, "seed": args.seeds[0]},
            }


def real_cells(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Tunings with and without fusion, on real data."""
    options = {name: value for name in ("epochs", "max_steps", "every") if (value := getattr(args, name)) is not None}
    for seed in args.seeds:
        for task, data in (("ner", args.data_ner), ("pos", args.data_pos)):
            for tuning in (args.tunings or REAL_TUNINGS) if data and task in (args.tasks or (task,)) else ():
                name, _, head = tuning.partition("/")
                if name == "stack" and not args.language_adapters:
                    continue
                for one in [head] if head else ["last", "dlfa"]:
                    yield {
                        "task": task,
                        "tuning": f"stack:{args.language_adapters}/en" if name == "stack" else name,
                        "head": one,
                        "data": str(data),
                        "fuse_layer": args.fuse_layer,
                        "languages": (args.languages or LANGUAGES[task]).split(","),
                        "language_adapters": args.language_adapters,
                        "limit": args.limit,
                        "limit_train": args.limit_train,
                        "limit_dev": args.limit_dev,
                        "model": args.model,
                        "options": {**options, "seed": seed},
                    }


def run_all(todo: list[dict[str, Any]], out: Path, gpus: int, at_once: int) -> None:
    """Run cells, `at_once` on each GPU; write a row for each as it is done."""
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for cell in todo:
        waiting.put(cell)
    lock = threading.Lock()

    def work(gpu: int | None) -> None:
        environment = {**os.environ, **({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)})}
        while True:
            try:
                cell = waiting.get_nowait()
            except queue.Empty:
                return
            start = time.monotonic()
            done = subprocess.run(
                [sys.executable, str(CELL), json.dumps(cell)], env=environment, capture_output=True, text=True
            )
            row = {"cell": cell, "at_once": at_once, "total_seconds": round(time.monotonic() - start, 1)}
            if done.returncode:
                row["error"] = done.stderr.strip()[-2000:]
            else:
                row |= json.loads(done.stdout.strip().splitlines()[-1])
            with lock:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{cell['task']} {cell['tuning']} {cell['head']}: {row.get('error') or row['dev']}", flush=True)

    workers = [threading.Thread(target=work, args=(i % gpus if gpus else None,)) for i in range(max(1, gpus) * at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def read_rows(out: Path) -> list[dict[str, Any]]:
    """The rows of a file, those that failed left out."""
    lines = out.read_text("utf-8").splitlines() if out.exists() else []
    return [row for line in lines if "error" not in (row := json.loads(line))]


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table for each task."""
    parts = []
    for task in dict.fromkeys(row["cell"]["task"] for row in rows):
        mine = [row for row in rows if row["cell"]["task"] == task]
        languages = list(mine[0].get("scores", {}))
        header = ["tuning", "head", "seed", *(["targets"] if languages else []), *languages, "dev", "learns", "share",
                  "memory, MB", "seconds", "reload"]  # fmt: skip
        parts.append(f"### {task}\n\n{table(header, [cells_of(row, languages) for row in mine])}\n")
        if languages:
            parts.append(over_seeds(mine) + "\n")
    return "\n".join(parts)


def over_seeds(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over seeds, and the difference to the last layer of the same seed."""
    groups: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    for row in rows:
        cell, scores = row["cell"], row["scores"]
        targets = fmean(score for language, score in scores.items() if language != "en")
        groups.setdefault((cell["tuning"], cell["head"]), {})[cell["options"]["seed"]] = targets, scores["en"]
    lines = []
    for (tuning, head), seeds in groups.items():
        base = groups.get((tuning, "last"), {})
        paired = [found[0] - base[seed][0] for seed, found in seeds.items() if seed in base and head != "last"]
        columns = [spread([found[i] for found in seeds.values()]) for i in (0, 1)]
        lines.append([tuning, head, str(len(seeds)), *columns, spread(paired, "+.2f") if paired else ""])
    return table(["tuning", "head", "seeds", "targets", "English test", "against `last`"], lines)


def spread(values: list[float], form: str = ".1f") -> str:
    """Mean ± standard deviation."""
    return f"{fmean(values):{form}}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def cells_of(row: dict[str, Any], languages: list[str]) -> list[str]:
    """A line of the table."""
    cell, scores = row["cell"], row.get("scores", {})
    targets = [scores[language] for language in languages if language != "en"]
    layer = row["head"]["fuse_layer"]
    return [
        cell["tuning"].partition(":")[0] if cell["tuning"].startswith("stack") else cell["tuning"],
        f"DLFA {','.join(map(str, layer))}" + ", layer norm" * (cell["head"] == "layer-norm")
        if layer
        else "scalar mix, BiLSTM"
        if cell["head"] == "bilstm"
        else "last",
        str(cell["options"]["seed"]),
        *([f"{sum(targets) / len(targets):.1f}"] if targets else []),
        *(f"{scores[language]:.1f}" + ("*" if row["splits"][language] == "dev" else "") for language in languages),
        f"{row['dev']:.1f}",
        f"{row['trainable']:,}",
        f"{100 * row['trainable'] / row['parameters']:.2f} %",
        f"{row['peak_memory_mb']:,}",
        f"{row['seconds']:.1f}",
        "equal" if row["equal_after_reload"] else "DIFFERENT",
    ]


def main() -> None:
    """Run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=lambda text: text.split(","))
    parser.add_argument("--tunings", type=lambda text: text.split(","), help=f"of {', '.join(TUNINGS)}")
    parser.add_argument("--steps", type=int, default=3, help="on the samples, of 8 items each")
    parser.add_argument("--data-ner", type=Path)
    parser.add_argument("--data-pos", type=Path)
    parser.add_argument("--fuse-layer", type=int)
    parser.add_argument("--language-adapters", type=Path, help="folder with a folder for each language")
    parser.add_argument("--model", default="offline")
    parser.add_argument("--languages", help="targets, e.g. de,sw,zh")
    parser.add_argument("--limit", type=int, default=1000, help="items of a target language")
    parser.add_argument("--limit-train", type=int)
    parser.add_argument("--limit-dev", type=int, default=2000)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--every", type=int)
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0])
    parser.add_argument("--gpus", type=int, default=0, help="GPUs to use; 0: whatever the processes see")
    parser.add_argument("--at-once", type=int, default=1, help="cells on a GPU, or on the machine, at a time")
    parser.add_argument("--out", type=Path, default=Path("tunings.jsonl"))
    parser.add_argument("--table", type=Path, help="print the tables of this file, and do nothing else")
    args = parser.parse_args()
    if args.table:
        print(markdown(read_rows(args.table)))
        return
    real = bool(args.data_ner or args.data_pos)
    with tempfile.TemporaryDirectory() as folder:
        if not real and args.language_adapters is None and "stack" in (args.tunings or TUNINGS):
            args.language_adapters = Path(folder)
            command = [sys.executable, str(CELL), "--language-adapter", f"{folder}/en", str(args.steps), args.model]
            subprocess.run(command, check=True)
        args.language_adapters = str(args.language_adapters) if args.language_adapters else None
        done = [without_place(row["cell"]) for row in read_rows(args.out)]
        todo = [cell for cell in cells(args) if without_place(cell) not in done]
        run_all(todo, args.out, args.gpus, args.at_once)
    print(f"\n{', '.join(f'{name} {value}' for name, value in machine().items())}\n")
    print(markdown(read_rows(args.out)))


def without_place(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell as it can be compared: wherever its language adapters are."""
    kept = {name: value for name, value in cell.items() if name not in ("language_adapters", "data")}
    return {**kept, "tuning": "stack" if cell["tuning"].startswith("stack:") else cell["tuning"]}


if __name__ == "__main__":
    main()
