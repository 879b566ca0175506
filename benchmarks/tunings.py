"""Every tuning on every task: that it trains and reloads, and how well it does, with time, memory and trainable share.

    python benchmarks/tunings.py --steps 3 --out smoke.jsonl

trains each tuning for three steps on the samples of each task with the offline encoder, and compares the logits of the
trained model with those that a new process gets from its run folder.

    python benchmarks/tunings.py --data-ner PANX --data-pos UDPOS --fuse-layer 7 --language-adapters ADAPTERS

trains on all English data and scores target languages, each with the last layer alone and with DLFA at the fuse layer.
PANX holds `<language>/train.tsv`, `dev.tsv`, `test.tsv`, UDPOS `train-en.tsv`, `dev-en.tsv`, `test-<language>.tsv`, and
so do the folders of `--data-xnli` and `--data-topic`; that of `--data-parse` has a folder for each treebank,
`UD_English-EWT` among them. A language without labelled test data is scored on dev, which the table marks with *.
Training and selection see English alone. ADAPTERS holds a folder of `dlfa train-language` for each language (`en`,
`de`...), for the tuning `stack`, which is left out without them.

On real data every row gets rates of its own: with the first of `--seeds` each tuning and head, the last layer too, is
trained at every pair of rates in `GRIDS` (of what is below the head, of the head), and the pair with the best score on
English dev serves all seeds; a rate at the edge of its grid is marked ^. Target languages are scored for every cell and
choose nothing. Linear heads on frozen states try their rates in the training itself. `--default-rates` takes the
defaults of `dlfa train` instead.

Every cell is a process of its own, and a row of the file `--out` as soon as it is done; what is in the file is not done
again. `--gpus 4 --at-once 2` runs two cells on each of four GPUs. `--table FILE` prints the tables of a file.
"""

import argparse
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from measuring import machine, read_rows, table

CELL = Path(__file__).with_name("tunings_cell.py")
SAMPLES = {"ner": "samples:ner", "pos": "samples:pos", "xnli": "samples:nli", "pawsx": "samples:pawsx"}
TUNINGS = ("full", "freeze:6", "lora", "peft-lora", "bottleneck", "stack", "features", "features/bilstm")
REAL_TUNINGS = (
    "full/last", "full/dlfa", "lora/last", "lora/dlfa", "bottleneck/last", "bottleneck/dlfa",
    "features/last", "features/layer", "features/dlfa", "features/layer-norm",
    "features/bilstm", "features/layer-bilstm", "features/dlfa-bilstm",
)  # fmt: skip
PARSE_TUNINGS = (
    "full/last", "full/dlfa@4", "full/dlfa@7", "full/dlfa@10",
    "lora/last", "lora/dlfa@4", "lora/dlfa@7", "lora/dlfa@10",
    "features/last", "features/dlfa@4", "features/dlfa@7", "features/dlfa@10",
    "features/layer@4", "features/layer@7", "features/layer@10",
    "features/last-bilstm", "features/dlfa@4-bilstm", "features/dlfa@7-bilstm", "features/dlfa@10-bilstm",
    "features/layer@7-bilstm", "features/bilstm", "full/last-upos",
)  # fmt: skip
"""Those for parsing, where the best fuse layer is not known: DLFA at three layers, and each of these alone."""

GRIDS: dict[str, list[tuple[float | None, float]]] = {
    "full": [(2e-5, 1e-3), (5e-5, 1e-3), (1e-4, 1e-3), (2e-4, 1e-3), (5e-5, 1e-4)],
    "lora": [(5e-4, 3e-3), (1e-3, 3e-3), (2e-3, 3e-3), (4e-3, 3e-3), (1e-3, 1e-3)],
    "bottleneck": [(2e-4, 3e-3), (5e-4, 3e-3), (1e-3, 3e-3), (2e-3, 3e-3), (5e-4, 1e-3)],
    "bilstm": [(None, 5e-4), (None, 1e-3), (None, 2e-3)],
}
"""Learning rates tried for each tuning on real data: of encoder or adapters, and of the head."""

NER_GRIDS = {name: grid[1:4] if len(grid) == 5 else grid for name, grid in GRIDS.items()}
"""Those for NER: without the lowest, and without the lower rate of the head, which POS had shown to be behind."""

OTHER_GRIDS: dict[str, list[tuple[float | None, float]]] = {
    "full": [(5e-5, 1e-3), (1e-4, 1e-3), (2e-4, 1e-3)],
    "lora": [(1e-3, 3e-3), (2e-3, 3e-3)],
    "bilstm": [(None, 1e-3), (None, 2e-3)],
}
"""Those for texts."""

PARSE_GRIDS: dict[str, list[tuple[float | None, float]]] = {
    "full": [(5e-5, 1e-3), (1e-4, 1e-3), (2e-4, 1e-3), (4e-4, 1e-3)],
    "lora": [(1e-3, 3e-3), (2e-3, 3e-3), (4e-3, 3e-3)],
    "bilstm": [(None, 5e-4), (None, 1e-3), (None, 2e-3), (None, 4e-3)],
}
"""Those for parsing."""

FEATURE_RATES = {"parse": (3e-4, 1e-3, 3e-3, 1e-2)}
"""Tried in the training of a head on frozen states where the defaults, which are for linear classifiers, do not fit."""

NAMES = {
    "last": "last",
    "layer": "layer {layer} alone",
    "dlfa": "DLFA {layer}",
    "layer-norm": "DLFA {layer}, layer norm",
    "bilstm": "scalar mix, BiLSTM",
    "layer-bilstm": "layer {layer} alone, BiLSTM",
    "dlfa-bilstm": "DLFA {layer}, layer norm, BiLSTM",
    "last-bilstm": "last, BiLSTM",
    "last-upos": "last, gold parts of speech",
}
LANGUAGES = {
    "ner": "de,es,fr,nl,pl,pt,ru,sw,yo,ar,et,hi,tr,zh",
    "pos": "de,es,fr,nl,pt,ru,yo,ar,el,et,eu,he,hi,id,ja,ko,th,tr,vi,zh",
    "xnli": "ar,bg,de,el,es,fr,hi,ru,sw,th,tr,ur,vi,zh",
    "topic": "ar,bn,de,el,es,fr,he,hi,ja,ka,ko,ru,sw,ta,th,tr,vi,yo,zh",
    "parse": "de,nl,fr,es,it,bg,ru,el,fa,hi,et,tr,id,vi,ta,ar,ja,ko,zh",
}


def cells(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is to be run."""
    if data_of(args):
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
    """Each tuning and head on real data with the first seed, once for each pair of rates."""
    options = {name: value for name in ("epochs", "max_steps", "every") if (value := getattr(args, name)) is not None}
    for task, data in data_of(args).items():
        tunings = args.tunings or (PARSE_TUNINGS if task == "parse" else REAL_TUNINGS)
        for tuning in tunings if task in (args.tasks or (task,)) else ():
            name, _, head = tuning.partition("/")
            if name == "stack" and not args.language_adapters:
                continue
            grid = args.rates or grid_of(task, name, head)
            for rates in [(None, None)] if args.default_rates or not grid else grid:
                named = zip(("learning_rate", "head_learning_rate"), rates, strict=True)
                yield {
                    "task": task,
                    "tuning": f"stack:{args.language_adapters}/en" if name == "stack" else name,
                    "head": head or "dlfa",
                    "data": str(data),
                    "fuse_layer": args.fuse_layer,
                    "languages": (args.languages or LANGUAGES[task]).split(","),
                    "language_adapters": args.language_adapters,
                    "limit": args.limit,
                    "limit_train": args.limit_train,
                    "limit_dev": args.limit_dev,
                    "model": args.model,
                    "reload": False,
                    "options": {
                        **options,
                        **(
                            {"head_learning_rates": FEATURE_RATES[task]}
                            if name == "features" and task in FEATURE_RATES and not grid
                            else {}
                        ),
                        **{name: rate for name, rate in named if rate is not None},
                        "seed": args.seeds[0],
                    },
                }


def data_of(args: argparse.Namespace) -> dict[str, Path]:
    """The real data that were named, by task."""
    named = {task: getattr(args, f"data_{task}") for task in ("pos", "ner", "parse", "xnli", "topic")}
    return {task: data for task, data in named.items() if data}


def grid_of(task: str, tuning: str, head: str) -> list[tuple[float | None, float]]:
    """The rates to try; `freeze:N` has those of `full`."""
    name = "bilstm" if head.endswith("bilstm") else "full" if tuning.startswith("freeze:") else tuning
    grids = {"ner": NER_GRIDS, "pos": GRIDS, "parse": PARSE_GRIDS}.get(task, OTHER_GRIDS)
    return grids.get(name, [])


def rate_pairs(text: str) -> list[tuple[float | None, float]]:
    """Rates below the head and of the head, as they are typed; `none` below it where nothing learns there."""
    pairs = (pair.split("/") for pair in text.split(","))
    return [(None if below == "none" else float(below), float(head)) for below, head in pairs]


def group_of(cell: dict[str, Any]) -> tuple[str, str, str]:
    """What cells share that differ in rates and seed alone."""
    return cell["task"], cell["tuning"].partition(":/")[0], cell["head"]


def groups_of(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The groups that rows are of, in the order of `REAL_TUNINGS`."""
    order = [tuple(name.split("/")) for name in (*REAL_TUNINGS, *PARSE_TUNINGS)]
    found = dict.fromkeys(group_of(row["cell"]) for row in rows)
    return sorted(found, key=lambda group: order.index(group[1:]) if group[1:] in order else len(order))


def best_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The row with the best English dev score, of those with one seed and several rates."""
    return max(rows, key=lambda row: row["dev"])


class Seeds:
    """What follows the trials of rates: the other seeds of a group at the rates that are best on English dev.

    Args:
        trials: All cells with the first seed.
        seeds: All seeds.
    """

    def __init__(self, trials: list[dict[str, Any]], seeds: list[int]) -> None:
        self.seeds, self.missing, self.rows = seeds[1:], {}, {}
        for cell in trials:
            self.missing[group_of(cell)] = self.missing.get(group_of(cell), 0) + 1

    def after(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """The cells that can be run now that there is one more row; one without scores is a trial that lost."""
        group, cell = group_of(row["cell"]), row["cell"]
        if cell["options"]["seed"] in self.seeds or group not in self.missing:
            return []
        self.missing[group] -= 1
        if "error" not in row:
            self.rows.setdefault(group, []).append(row)
        if self.missing[group] or group not in self.rows:
            return []
        best = best_of(self.rows[group])["cell"]
        reload = best["task"] != "parse"  # whose logits take more than pieces
        return [{**best, "reload": reload, "options": {**best["options"], "seed": seed}} for seed in self.seeds]


def run_all(
    todo: list[dict[str, Any]],
    out: Path,
    gpus: int,
    at_once: int,
    after: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda row: [],
) -> None:
    """Run cells, `at_once` on each GPU, and those that follow; write a row for each as it is done."""
    free: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    for place in range(max(1, gpus) * at_once):
        free.put(place % gpus if gpus else None)

    def run(cell: dict[str, Any]) -> dict[str, Any]:
        gpu = free.get()
        environment = {**os.environ, **({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)})}
        start = time.monotonic()
        command = [sys.executable, str(CELL), json.dumps(cell)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        free.put(gpu)
        row = {"cell": cell, "at_once": at_once, "total_seconds": round(time.monotonic() - start, 1)}
        failed = {"error": done.stderr.strip()[-2000:]}
        return row | (failed if done.returncode else json.loads(done.stdout.strip().splitlines()[-1]))

    with ThreadPoolExecutor(max(1, gpus) * at_once) as pool:
        running: set[Future[dict[str, Any]]] = {pool.submit(run, cell) for cell in todo}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for row in (future.result() for future in finished):
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                cell = row["cell"]
                told = f"{cell['task']} {cell['tuning']} {cell['head']} {cell['options']}"
                print(f"{told}: {row.get('error') or row['dev']}", flush=True)
                running |= {pool.submit(run, following) for following in after(row)}


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table for each task."""
    parts = []
    for task in dict.fromkeys(row["cell"]["task"] for row in rows):
        mine = [row for row in rows if row["cell"]["task"] == task]
        languages = list(mine[0].get("scores", {}))
        header = ["tuning", "head", "rates", "seed", *(["targets"] if languages else []), *languages, "dev", "learns",
                  "share", "memory, MB", "seconds", "reload"]  # fmt: skip
        lines = [cells_of(row, languages) for row in (chosen(mine) if languages else mine)]
        parts.append(f"### {task}\n\n{table(header, lines)}\n")
        if languages:
            parts.append(over_seeds(mine) + "\n")
    return "\n".join(parts)


def chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each group at the rates that its first seed chose, and how many pairs of rates there were."""
    kept = []
    for group in groups_of(rows):
        mine = [row for row in rows if group_of(row["cell"]) == group]
        first = [row for row in mine if row["cell"]["options"]["seed"] == mine[0]["cell"]["options"]["seed"]]
        best = rates_in(best_of(first)["cell"])
        kept += [{**row, "tried": len(first)} for row in mine if rates_in(row["cell"]) == best]
    return kept


def rates_in(cell: dict[str, Any]) -> tuple[float | None, float | None]:
    """The rates that a cell names, below the head and of the head."""
    options = cell["options"]
    return options.get("learning_rate"), options.get("head_learning_rate")


def over_seeds(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over seeds, and the difference to the last layer of the same seed.

    For parsing with UAS, of the targets and English, where all rows of a line have it.
    """
    groups: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    rates: dict[tuple[str, str], str] = {}
    titles: dict[tuple[str, str], str] = {}
    uas: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with_uas = any(map(uas_of, rows))
    for row in chosen(rows):
        cell, scores = row["cell"], row["scores"]
        targets = targets_of(scores)
        key = (cell["tuning"], cell["head"])
        groups.setdefault(key, {})[cell["options"]["seed"]] = targets, scores["en"]
        rates[key], titles[key] = rates_of(row), title_of(row)
        if heads := uas_of(row):
            uas.setdefault(key, []).append((targets_of(heads), heads["en"]))
    lines = []
    for (tuning, head), seeds in groups.items():
        base = groups.get((tuning, "last"), {})
        paired = [found[0] - base[seed][0] for seed, found in seeds.items() if seed in base and head != "last"]
        columns = [spread([found[i] for found in seeds.values()]) for i in (0, 1)]
        beside = uas.get((tuning, head), [])
        whole = len(beside) == len(seeds)
        columns += [spread([found[i] for found in beside]) if whole else "" for i in (0, 1) if with_uas]
        difference = spread(paired, "+.2f") if paired else ""
        lines.append([tuning, titles[tuning, head], rates[tuning, head], str(len(seeds)), *columns, difference])
    header = ["tuning", "head", "rates", "seeds", "targets", "English test"]
    header += ["targets, UAS", "English test, UAS"] if with_uas else []
    return table([*header, "against `last`"], lines)


def targets_of(scores: dict[str, float]) -> float:
    """The mean over the target languages of scores by language."""
    return fmean(score for language, score in scores.items() if language != "en")


def uas_of(row: dict[str, Any]) -> dict[str, float]:
    """The UAS of each language of a row for parsing; nothing where it was not kept, or there is none."""
    return dict(row.get("all_scores", {}).get("uas", {}))


def shown(rows: list[dict[str, Any]], languages: Iterable[str]) -> str:
    """The mean over rows and languages of the main score; for parsing UAS/LAS, where all rows have both."""
    languages = list(languages)
    found = [row["scores"][language] for row in rows for language in languages]
    beside = [uas_of(row)[language] for row in rows if uas_of(row) for language in languages]
    return f"{fmean(beside):.1f}/{fmean(found):.1f}" if len(beside) == len(found) else f"{fmean(found):.1f}"


def title_of(row: dict[str, Any]) -> str:
    """What the head of a row is called."""
    name = re.sub(r"@\d+", "", row["cell"]["head"])
    return NAMES[name].format(layer=",".join(map(str, row["head"]["fuse_layer"] or ())))


def rates_of(row: dict[str, Any]) -> str:
    """The rates of a row, below the head and of the head; ^ at the edge of those that were tried."""
    cell = row["cell"]
    grid = grid_of(*group_of(cell))
    if cell["tuning"].startswith("freeze:") and tuple(row["rates"]) not in grid:
        grid = []  # a default
    told = []
    for place, rate in enumerate(row["rates"]):
        tried = sorted({rates[place] for rates in grid if rates[place] is not None})
        edge = len(tried) > 1 and rate in (tried[0], tried[-1])
        told.append(f"{rate:g}" + "^" * edge)
    return told[-1] if cell["tuning"] == "features" else " / ".join(told)


def spread(values: list[float], form: str = ".1f") -> str:
    """Mean ± standard deviation."""
    return f"{fmean(values):{form}}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def cells_of(row: dict[str, Any], languages: list[str]) -> list[str]:
    """A line of the table."""
    cell = row["cell"]
    targets = [language for language in languages if language != "en"]
    return [
        cell["tuning"].partition(":")[0] if cell["tuning"].startswith("stack") else cell["tuning"],
        title_of(row),
        rates_of(row),
        str(cell["options"]["seed"]),
        *([shown([row], targets)] if targets else []),
        *(shown([row], [language]) + ("*" if row["splits"][language] == "dev" else "") for language in languages),
        f"{row['dev']:.1f}",
        f"{row['trainable']:,}",
        f"{100 * row['trainable'] / row['parameters']:.2f} %",
        f"{row['peak_memory_mb']:,}",
        f"{row['seconds']:.1f}",
        {True: "equal", False: "DIFFERENT", None: ""}[row["equal_after_reload"]],
    ]


def main() -> None:
    """Run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=lambda text: text.split(","))
    parser.add_argument("--tunings", type=lambda text: text.split(","), help=f"of {', '.join(TUNINGS)}")
    parser.add_argument("--steps", type=int, default=3, help="on the samples, of 8 items each")
    parser.add_argument("--data-ner", type=Path)
    parser.add_argument("--data-pos", type=Path)
    parser.add_argument("--data-parse", type=Path)
    parser.add_argument("--data-xnli", type=Path)
    parser.add_argument("--data-topic", type=Path)
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
    parser.add_argument("--rates", type=rate_pairs, help="try these for every row, e.g. 5e-5/1e-3,1e-4/1e-3; none/1e-3")
    parser.add_argument("--default-rates", action="store_true", help="those of dlfa train, for every row")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs to use; 0: whatever the processes see")
    parser.add_argument("--at-once", type=int, default=1, help="cells on a GPU, or on the machine, at a time")
    parser.add_argument("--out", type=Path, default=Path("tunings.jsonl"))
    parser.add_argument("--table", type=Path, help="print the tables of this file, and do nothing else")
    args = parser.parse_args()
    if args.table:
        print(markdown(read_rows(args.table)))
        return
    real = bool(data_of(args))
    with tempfile.TemporaryDirectory() as folder:
        if not real and args.language_adapters is None and "stack" in (args.tunings or TUNINGS):
            args.language_adapters = Path(folder)
            command = [sys.executable, str(CELL), "--language-adapter", f"{folder}/en", str(args.steps), args.model]
            subprocess.run(command, check=True)
        args.language_adapters = str(args.language_adapters) if args.language_adapters else None
        rows, todo = read_rows(args.out), list(cells(args))
        done = [without_place(row["cell"]) for row in rows]
        seeds = Seeds(todo, args.seeds if real else args.seeds[:1])
        todo = [cell for cell in todo if without_place(cell) not in done]
        following = [cell for row in rows for cell in seeds.after(row)]
        todo += [cell for cell in following if without_place(cell) not in done]
        run_all(todo, args.out, args.gpus, args.at_once, seeds.after)
    print(f"\n{', '.join(f'{name} {value}' for name, value in machine().items())}\n")
    print(markdown(read_rows(args.out)))


def without_place(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell as it can be compared: wherever its language adapters are."""
    kept = {name: value for name, value in cell.items() if name not in ("language_adapters", "data")}
    return {**kept, "tuning": "stack" if cell["tuning"].startswith("stack:") else cell["tuning"]}


if __name__ == "__main__":
    main()
