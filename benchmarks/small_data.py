"""The defaults of a training on 50 to 5,000 examples, beside the best of a small grid of rates and steps.

    python benchmarks/small_data.py --ner PANX --topic SIB200 --pair TAXINLI --pair-target XNLI --gpus 1 --at-once 8

trains `features` and `lora` (and `full` with a GPU) on N English examples of each task at every point of a small grid
of rates and least steps, the defaults of `dlfa train` and the tuning's epochs alone (no least number of steps) among
them; and scores each on English and target test data. The table sets the default beside the point of the grid that is
best on English *dev* (what a user could have found with `dlfa tune`) and beside the one that is best on the targets
(which nobody can choose). The aim is a default at most two points below the former, everywhere.

PANX has `<language>/train.tsv`, SIB200 `<language>/train.tsv` under its own codes, TAXINLI and XNLI `train-en.tsv` and
`test-<language>.tsv`. Dev data are N / 2, but 50 to 500, as somebody with so few labels has: from the dev split of the
target data.

`features` has its default made of two rows, see `with_defaults`.

The cells of a task, size and tuning are run in one process, one after another; each is a line of `--out` as soon as it
is done, and what is there is not done again.
`--table FILE` prints the table of a file. `--steps 4 --sizes 20 --limit 20` tries it out.
"""

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from measuring import machine, read_rows, table

SIZES = (50, 100, 500, 5000)
LANGUAGES = {"ner": "de,es,sw,ru,yo", "topic": "de,es,sw,tr,zh", "xnli": "de,es,sw,tr,zh"}
SIB_CODES = {"en": "eng_Latn", "de": "deu_Latn", "es": "spa_Latn", "sw": "swh_Latn", "tr": "tur_Latn", "zh": "zho_Hans"}
GRID: dict[str, tuple[dict[str, float], ...]] = {
    "features": ({}, {"min_steps": 0}, *({"head_learning_rate": x, "min_steps": 1000} for x in (1e-3, 3e-3, 1e-2))),
    "lora": (
        *({"learning_rate": x, "min_steps": 1000} for x in (1e-3, 5e-4, 2e-4)),
        *({"learning_rate": 5e-4, "min_steps": x} for x in (500, 0)),
    ),
    "full": ({}, {"min_steps": 0}, *({"learning_rate": x, "min_steps": 1000} for x in (1e-5, 2e-5, 5e-5))),
}
"""What is tried; no options: what `dlfa train` does without them."""

UNNAMED = {"lora": {"learning_rate": 5e-4, "min_steps": 500}}
"""The options of `dlfa train` that rows had which do not name them: those of the day when they were written."""


def cells(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is to be run."""
    sources = {"ner": (args.ner, args.ner), "topic": (args.topic, args.topic), "xnli": (args.pair, args.pair_target)}
    for task, (train, target) in sources.items():
        if train is None:
            continue
        for size in args.sizes:
            if task == "topic" and size > 701 and 500 in args.sizes:
                continue
            for tuning in args.tunings:
                for options in [default_of(tuning)] if args.defaults_only else GRID[tuning]:
                    if args.steps:
                        options = {**options, "max_steps": args.steps}
                    for seed in args.seeds:
                        yield {
                            "task": task,
                            "size": size,
                            "tuning": tuning,
                            "train": str(train),
                            "target": str(target or train),
                            "languages": (args.languages or LANGUAGES[task]).split(","),
                            "limit": None if task == "topic" else args.limit,  # its 204 are sorted by label
                            "encoder": args.encoder,
                            "options": {**options, "seed": seed},
                        }


def default_of(tuning: str) -> dict[str, Any]:
    """The point of the grid at which `dlfa train` trains without options."""
    from dlfa_adapters.tuning import get_tuning

    defaults = get_tuning(tuning).defaults
    return {name: getattr(defaults, name) for name in UNNAMED.get(tuning, ())}


def point_of(cell: dict[str, Any]) -> dict[str, Any]:
    """The point of the grid that a cell is."""
    given = {name: value for name, value in cell["options"].items() if name not in ("seed", "max_steps")}
    return {**UNNAMED.get(cell["tuning"], {}), **given}


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Train, and score English and the targets.

    Args:
        cell: Of `cells`.

    Returns:
        Scores in percent, what was trained, and seconds.
    """
    from dlfa_adapters.kinds import metrics_for
    from dlfa_adapters.learning import train
    from dlfa_adapters.predict.run import predict_run

    code = SIB_CODES.__getitem__ if cell["task"] == "topic" else str
    items, dev = _train_and_dev(cell, code("en"))
    folder = Path(tempfile.mkdtemp(prefix="small-"))
    try:
        start = time.monotonic()
        run = train(
            cell["task"], train_data=items, dev_data=dev, language=code("en"), model=cell["encoder"],
            tuning=cell["tuning"], out=folder / "run", **cell["options"],
        )  # fmt: skip
        seconds = time.monotonic() - start
        wanted = [code(language) for language in ("en", *cell["languages"])]
        predictions = predict_run(run, cell["target"], split="test", languages=wanted, limit=cell["limit"])
        metric = metrics_for(predictions.task)[0]
        scores = {}
        for found in predictions.languages:
            result = metric.compute(
                predictions=found.predicted, references=found.gold, labels=list(predictions.task.labels)
            )
            scores[found.language] = round(100 * (result[metric.main_score] or 0.0), 2)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    told = run.config["training"]
    return {
        "dev": next(iter(run.config["metrics"]["dev"].values())),
        "source": scores[wanted[0]],
        "targets": round(fmean(scores[language] for language in wanted[1:]), 2),
        "scores": scores,
        "kept": told["best"],
        "found_nothing": "found_nothing" in told,
        **{name: told[name] for name in ("steps", "epochs", "learning_rate", "head_learning_rate", "device")},
        "seconds": round(seconds, 1),
    }


def _train_and_dev(cell: dict[str, Any], language: str) -> tuple[Any, Any]:
    """The first examples of a shuffled training split, the same for every cell, and dev data to go with so many."""
    from dlfa_adapters.data.sources import load_source

    rows = load_source(cell["train"], cell["task"], "train", [language]).dataset.shuffle(seed=0)
    size, few = cell["size"], min(500, max(50, cell["size"] // 2))
    dev = load_source(cell["target"], cell["task"], "dev", [language]).dataset.shuffle(seed=0)
    return rows.select(range(min(size, len(rows)))), dev.select(range(min(few, len(dev))))


def run_all(todo: list[dict[str, Any]], out: Path, gpus: int, at_once: int) -> None:
    """Run cells, `at_once` processes on each GPU or on the machine; write a line for each as it is done."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for cell in todo:
        groups.setdefault(name_of(cell), []).append(cell)
    waiting: queue.SimpleQueue[list[dict[str, Any]]] = queue.SimpleQueue()
    for cells_of_one in sorted(groups.values(), key=lambda group: -group[0]["size"]):  # the longest first
        waiting.put(cells_of_one)
    lock, begun = threading.Lock(), time.monotonic()
    threads = str(max(1, (os.cpu_count() or 1) // (max(1, gpus) * at_once)))

    def work(gpu: int | None) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
        if gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        while True:
            try:
                group = waiting.get_nowait()
            except queue.Empty:
                return
            in_a_process(group, environment, note)

    def note(row: dict[str, Any]) -> None:
        with lock:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            what = row.get("error", "")[-200:] or f"{row['source']} {row['targets']} in {row['seconds']} s"
            print(
                f"{time.monotonic() - begun:5.0f} s  {name_of(row['cell'])} {row['cell']['options']}: {what}",
                flush=True,
            )

    workers = [threading.Thread(target=work, args=(i % gpus if gpus else None,)) for i in range(max(1, gpus) * at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def in_a_process(
    group: list[dict[str, Any]], environment: dict[str, str], note: Callable[[dict[str, Any]], None]
) -> None:
    """Run cells in a process of their own; `note` is called with the row of each as soon as it is done."""
    command = [sys.executable, __file__, "--cells", "-"]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as stdin:
            stdin.write(json.dumps(group))
        for line in process.stdout:
            if line.startswith('{"cell"'):
                note(json.loads(line))
        if process.wait():
            errors.seek(0)
            note({"cell": group[0], "error": errors.read().strip()[-2000:]})


def run_group(group: list[dict[str, Any]]) -> None:
    """Run cells one after another, and print a line of JSON for each; one that fails does not stop the others."""
    for cell in group:
        try:
            row: dict[str, Any] = {"cell": cell, **run_cell(cell)}
        except Exception as error:
            row = {"cell": cell, "error": f"{type(error).__name__}: {error}"[-2000:]}
        print(json.dumps(row), flush=True)


def name_of(cell: dict[str, Any]) -> str:
    """Task, size and tuning."""
    return f"{cell['task']} {cell['size']} {cell['tuning']}"


def with_defaults(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows, and the defaults that they make.

    With `features` the default is two trainings, for the tuning's epochs and for at least 500 steps, and dev keeps the
    better; where rows have both by themselves, the default is known without running it.
    """
    by_cell = {_key(_without_place(row["cell"])): row for row in rows}
    made = []
    for row in rows:
        cell = row["cell"]
        if cell["tuning"] != "features" or point_of(cell) != {"min_steps": 500}:
            continue
        seed = {"seed": cell["options"]["seed"]}
        shorter = by_cell.get(_key(_without_place({**cell, "options": {"min_steps": 0, **seed}})))
        default = {**cell, "options": seed}
        if shorter is not None and _key(_without_place(default)) not in by_cell:
            better = max(row, shorter, key=lambda each: each["dev"])
            made.append({**better, "cell": default, "seconds": row["seconds"] + shorter["seconds"]})
    return [*rows, *made]


def markdown(rows: list[dict[str, Any]]) -> str:
    """The default of each task, size and tuning beside the grid: source and target scores, means over seeds."""
    kinds: dict[tuple[str, int, str], dict[str, list[dict[str, Any]]]] = {}
    for row in with_defaults(rows):
        cell = row["cell"]
        kind = kinds.setdefault((cell["task"], cell["size"], cell["tuning"]), {})
        kind.setdefault(_key(point_of(cell)), []).append(row)
    lines = []
    for (task, size, tuning), points in sorted(kinds.items(), key=lambda item: (item[0][0], item[0][2], item[0][1])):
        mean = {
            point: {name: fmean(row[name] for row in found) for name in ("dev", "source", "targets")}
            for point, found in points.items()
        }
        if (usual := _key(default_of(tuning))) not in mean:
            continue
        default, most = mean[usual], max(row["steps"] for row in points[usual])
        by_dev = max(mean, key=lambda point: (mean[point]["dev"], point == usual))
        by_targets = max(mean, key=lambda point: mean[point]["targets"])
        without = next((mean[point] for point in mean if json.loads(point).get("min_steps") == 0), None)
        lines.append([
            task, size, tuning, f"{most:,}", f"{fmean(row['seconds'] for row in points[usual]):.0f}",
            f"{default['source']:.1f}", f"{default['targets']:.1f}",
            f"{without['targets']:.1f}" if without else "",
            f"{mean[by_dev]['targets']:.1f}", f"{default['targets'] - mean[by_dev]['targets']:+.1f}",
            "the default" if by_dev == usual else _in_words(by_dev),
            f"{mean[by_targets]['targets']:.1f}",
        ])  # fmt: skip
    header = ["task", "examples", "tuning", "steps", "seconds", "English", "targets", "without a least number of steps",
              "best on dev", "default against it", "which is", "best on targets (not allowed)"]  # fmt: skip
    return table(header, lines)


def _in_words(point: str) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in json.loads(point).items())


def _key(point: dict[str, Any]) -> str:
    return json.dumps(point, sort_keys=True)


def main() -> None:
    """Run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ner", type=Path, help="PAN-X")
    parser.add_argument("--topic", type=Path, help="SIB-200")
    parser.add_argument("--pair", type=Path, help="training data of xnli, e.g. TaxiNLI")
    parser.add_argument("--pair-target", type=Path, help="its dev and test data, e.g. XNLI; default: --pair")
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=list(SIZES))
    parser.add_argument("--tunings", type=lambda text: text.split(","), help="default: features,lora; full with a GPU")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0])
    parser.add_argument("--languages", help="targets, default: de,es,sw,tr,zh")
    parser.add_argument("--limit", type=int, default=500, help="test items of each language")
    parser.add_argument("--encoder", default="offline")
    parser.add_argument("--defaults-only", action="store_true", help="the defaults alone")
    parser.add_argument("--steps", type=int, help="end each training there, to try this script out")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs to use; 0: whatever the processes see")
    parser.add_argument("--at-once", type=int, default=1, help="cells on a GPU, or on the machine, at a time")
    parser.add_argument("--out", type=Path, default=Path("small_data.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of this file, and do nothing else")
    parser.add_argument("--cells", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cells:
        run_group(json.load(sys.stdin))
        return
    if args.table:
        print(markdown(read_rows(args.table)))
        return
    if args.tunings is None:
        args.tunings = ["features", "lora", *(["full"] if args.gpus else [])]
    done = [_without_place(row["cell"]) for row in read_rows(args.out)]
    todo = [cell for cell in cells(args) if _without_place(cell) not in done]
    print(f"{len(todo)} cells to run, {len(done)} are there", flush=True)
    run_all(todo, args.out, args.gpus, args.at_once)
    print(f"\n{', '.join(f'{name} {value}' for name, value in machine().items())}\n")
    print(markdown(read_rows(args.out)))


def _without_place(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell as it can be compared, wherever its data are."""
    options = {**cell["options"], **point_of(cell)}
    return {**{name: value for name, value in cell.items() if name not in ("train", "target")}, "options": options}


if __name__ == "__main__":
    main()
