"""What multi-lingual training knows, in small: four tasks, five systems, English, German, Spanish and French.

    python benchmarks/knowledge.py --data DATA --work WORK --out knowledge.jsonl --at-once 12   # minutes on one GPU
    python benchmarks/knowledge.py --analyses --work WORK --out knowledge.jsonl  # of the runs that are kept
    python benchmarks/knowledge_analyses.py WORK/analyses --out knowledge-analyses.json  # put together
    python benchmarks/knowledge.py --table knowledge.jsonl --plot knowledge.svg

Tables 2 and 6 of XMULTI ("Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training") with
the whole encoder learning and the last layer as input of the classifier: `cross` learns from English, `multi` from all
four languages, `+FA` from English beside other tasks, `+DA` from English after masked language modelling on the
training text of all four, `+combined` both. DATA holds `udpos`, `panx`, `pawsx` and `xlmt_sentiment`; of each a part is
taken, the same number of sentences in every language, see `knowledge_data.SIZES`.

What is equal: every system sees its main task for `--steps` steps of 32 rows. `+FA` has auxiliary data for about as
many steps more. Every row has a rate of its own: with the first seed each system of each task is trained at all
`RATES`, and that with the best dev score serves the other seeds; dev data are in the languages of the labels, so
English alone but for `multi`. How long `+DA` reads and at which rate was not chosen: `--adapt-steps` at the defaults of
`dlfa adapt`.

Every training is a process, and a line of `--out` as soon as it is scored; what is there is not done again. Runs of the
first seed at the best rate stay in WORK for `--analyses`, which writes Tables 3, 4 and 5 and Figure 1 as JSON into
`WORK/analyses`.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from knowledge_data import AUX, AUX_SIZES, LANGUAGES, SIZES, write_data
from knowledge_tables import SPLIT, draw, group_of, markdown, seed_of
from measuring import machine, read_rows
from tunings import best_of

SYSTEMS = ("cross", "multi", "+FA", "+DA", "+combined")
RATES = (5e-5, 1e-4)
HEAD_RATE = 1e-3


def cells(tasks: Sequence[str], systems: Sequence[str], rates: Sequence[float]) -> list[dict[str, Any]]:
    """Each system of each task at each rate, with the first seed."""
    return [
        {"task": task, "system": system, "rate": rate, "seed": 0}
        for system in systems
        for task in tasks
        if AUX[task] or system not in ("+FA", "+combined")
        for rate in rates
    ]


def name_of(cell: dict[str, Any]) -> str:
    """Of its run folder."""
    return f"{cell['task']}-{cell['system'].strip('+')}-{cell['rate']:g}-{cell['seed']}"


def adapted_at(task: str, args: argparse.Namespace, split_pairs: bool) -> Path:
    """Where the encoder is that has read the text of a task, pairs as pairs or one by one."""
    return Path(args.work / f"adapted-{task}{'-split' * split_pairs}")


def adapt(task: str, args: argparse.Namespace, split_pairs: bool = False) -> Path:
    """The encoder after it has read the training text of a task in all languages."""
    from dlfa_adapters.encoders.adapted import is_adapted
    from dlfa_adapters.learning import adapt_encoder

    out = adapted_at(task, args, split_pairs)
    if not is_adapted(out):
        adapt_encoder(
            str(args.work / "data" / task), task=task, model=args.model, languages=list(LANGUAGES), split="train",
            steps=args.adapt_steps, max_length=args.max_length, split_pairs=split_pairs, out=out,
        )  # fmt: skip
    return out


def run_cell(cell: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Train one system, and score it in the four languages."""
    from dlfa_adapters import train
    from dlfa_adapters.kinds import metrics_for
    from dlfa_adapters.kinds.examples import label_macro_f1
    from dlfa_adapters.predict.run import predict_run
    from dlfa_adapters.tasks import TASKS

    task, system, began = cell["task"], cell["system"], time.monotonic()
    augmented, many = system in ("+FA", "+combined"), system in ("multi", "multi+DA")
    aux = {other: str(args.work / "aux" / f"{other}-en.tsv") for other in AUX[task]} if augmented else None
    beside = sum(AUX_SIZES[other] for other in aux or ())
    data = str(args.work / "data" / task)
    adapted = system in ("+DA", "+combined", "multi+DA", SPLIT)
    run = train(
        task,
        train_data=data,
        dev_data=data,
        language=",".join(LANGUAGES if many else LANGUAGES[:1]),
        aux=aux,
        model=str(adapted_at(task, args, system == SPLIT)) if adapted else args.model,
        tuning="full",
        fusion="last",
        learning_rate=cell["rate"],
        head_learning_rate=HEAD_RATE,
        max_steps=round(args.steps * (1 + beside / SIZES[task]["train"])),
        max_length=args.max_length,
        seed=cell["seed"],
        out=args.work / "runs" / name_of(cell),
    )
    predictions = predict_run(run, data, split="test", languages=list(LANGUAGES), limit=args.limit)
    metric = metrics_for(TASKS[task])[0]
    macro, scores = {}, {}
    for each in predictions.languages:
        macro[each.language] = round(100 * (label_macro_f1(predictions.task, each.predicted, each.gold) or 0.0), 2)
        found = metric.compute(predictions=each.predicted, references=each.gold)
        scores[each.language] = round(100 * found[metric.main_score], 2)
    told = run.config["training"]
    return {
        "macro_f1": macro,
        "scores": scores,
        "dev": max(told["dev_scores"]),
        "kept": told["best"],
        "steps": told.get("steps"),
        "epochs": told["epochs"],
        "seconds": round(time.monotonic() - began, 1),
        "device": told["device"],
    }


def in_process(cell: dict[str, Any], argv: Sequence[str]) -> dict[str, Any]:
    """A cell in a process of its own; its row."""
    command = [sys.executable, __file__, *argv, "--cell", json.dumps(cell)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"cell": cell, "error": done.stderr.strip()[-2000:]}
    return {"cell": cell, **json.loads(done.stdout.strip().splitlines()[-1])}


class Cells:
    """Everything that is missing: adaptations first, then the trials of rates, then the other seeds.

    Args:
        args: Of the command line.
        argv: The same as it was typed, for the processes.
    """

    def __init__(self, args: argparse.Namespace, argv: Sequence[str]) -> None:
        self.args, self.argv, self.began, self.lock = args, argv, time.monotonic(), threading.Lock()
        self.rows = [row for row in read_rows(args.out) if "macro_f1" in row]
        self.adapted = {task: threading.Event() for task in args.tasks}
        self.futures: list[Future[None]] = []

    def run(self) -> None:
        """Several processes at a time."""
        trials, done = cells(self.args.tasks, self.args.systems, RATES), [row["cell"] for row in self.rows]
        first = [{"adapt": task} for task in self.args.tasks if {"+DA", "+combined"} & set(self.args.systems)]
        with ThreadPoolExecutor(self.args.at_once) as self.pool:
            for cell in (*first, *(cell for cell in trials if cell not in done)):
                self.futures.append(self.pool.submit(self.work, cell))
            for group in {(cell["task"], cell["system"]) for cell in trials if cell in done}:
                self.follow(group)
            while self.futures:
                self.futures.pop(0).result()

    def work(self, cell: dict[str, Any]) -> None:
        """One process, and what follows it."""
        if "adapt" in cell:
            row = in_process(cell, self.argv)
            self.adapted[cell["adapt"]].set()
            self.note(row)
            return
        if "DA" in cell["system"] or "combined" in cell["system"]:
            self.adapted[cell["task"]].wait()
        row = in_process(cell, self.argv)
        self.note(row)
        if cell["seed"]:
            shutil.rmtree(self.args.work / "runs" / name_of(cell), ignore_errors=True)
        if "error" not in row:
            with self.lock:
                self.rows.append(row)
                if cell["seed"] == 0 and cell["system"] in SYSTEMS:
                    self.follow(group_of(row))

    def follow(self, group: tuple[str, str]) -> None:
        """The other seeds of a system whose trials are done."""
        first = [row for row in self.rows if group_of(row) == group and seed_of(row) == 0]
        if len(first) < len(RATES):
            return
        best = best_of(first)["cell"]
        for row in first:
            if row["cell"] != best:
                shutil.rmtree(self.args.work / "runs" / name_of(row["cell"]), ignore_errors=True)
        wanted = [{**best, "seed": seed} for seed in self.args.seeds[1:]]
        if best["system"] == "multi" and "+DA" in self.args.systems:  # for Table 5
            wanted.append({**best, "system": "multi+DA"})
        done = [row["cell"] for row in self.rows]
        self.futures.extend(self.pool.submit(self.work, cell) for cell in wanted if cell not in done)

    def note(self, row: dict[str, Any]) -> None:
        """A line of the output, and one on the screen."""
        with self.lock, self.args.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        told = row.get("error", "")[-300:] or row.get("dev")
        print(f"{time.monotonic() - self.began:5.0f} s  {json.dumps(row['cell'])} {told}", flush=True)


def analyses(args: argparse.Namespace) -> None:
    """Tables 3, 4 and 5 and Figure 1 of the runs of the first seed that were kept, several commands at a time."""
    rows, out = [row for row in read_rows(args.out) if "macro_f1" in row], args.work / "analyses"
    out.mkdir(exist_ok=True)
    runs = {}
    for system in ("cross", "multi", "+DA", "multi+DA"):
        for task in args.tasks:
            mine = [row for row in rows if group_of(row) == (task, system) and seed_of(row) == 0]
            if mine:
                runs[task, system] = str(args.work / "runs" / name_of(best_of(mine)["cell"]))
    both = [runs[task, system] for task in args.tasks for system in ("cross", "multi")]
    places = {task: str(args.work / "data" / task) for task in args.tasks}
    commands = {"head-updates": ["head-updates", *both]}
    few = ["--limit", str(args.limit or 1000), "--languages", ",".join(LANGUAGES), "--json"]
    for task in args.tasks:
        probe = [f"--task={task}={places[task]}", f"--dev={task}={places[task]}", f"--data={task}={places[task]}"]
        commands[f"probing-{task}"] = ["probing", *both, *probe, *few]
        commands[f"head-probing-{task}"] = [
            "head-probing", task, *both, "--model", args.model,
            "--train", places[task], "--dev", places[task], "--data", places[task], *few,
        ]  # fmt: skip
        read = [str(adapted_at(task, args, False)), *(runs[task, x] for x in ("+DA", "multi+DA") if (task, x) in runs)]
        commands[f"perplexity-{task}"] = [
            "pseudo-perplexity", *read, "--data", places[task], "--task", task, "--languages", ",".join(LANGUAGES),
            "--limit", str(args.texts), "--json",
        ]  # fmt: skip
    commands["head-updates"].append("--json")

    def run(name: str) -> None:
        began, target = time.monotonic(), out / f"{name}.json"
        if target.exists():
            return
        done = subprocess.run(
            [sys.executable, "-m", "dlfa_cli", "analyze", *commands[name]], capture_output=True, text=True
        )
        if done.returncode:
            (out / f"{name}.error").write_text(done.stderr[-4000:], "utf-8")
        else:
            target.write_text(done.stdout, "utf-8")
        print(f"{time.monotonic() - began:5.0f} s  {name} {done.returncode}", flush=True)

    with ThreadPoolExecutor(args.at_once) as pool:
        list(pool.map(run, sorted(commands, key=lambda name: not name.startswith(("head-probing", "head-up")))))


def main() -> None:
    """Run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with all data")
    parser.add_argument("--work", type=Path, default=Path("runs/knowledge"), help="for data, encoders and runs")
    parser.add_argument("--out", type=Path, default=Path("knowledge.jsonl"))
    parser.add_argument("--model", default="offline")
    parser.add_argument("--tasks", nargs="+", default=list(AUX), choices=AUX)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=400, help="of the main task")
    parser.add_argument("--adapt-steps", type=int, default=500)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--texts", type=int, default=100, help="of each language, for pseudo-perplexity")
    parser.add_argument("--at-once", type=int, default=1, help="processes at a time")
    parser.add_argument("--analyses", action="store_true", help="of what was trained")
    parser.add_argument("--table", type=Path, help="print the tables of this file, and do nothing else")
    parser.add_argument("--plot", type=Path, help="draw what --table prints")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    argv = sys.argv[1:]
    if args.cell and "adapt" in args.cell:
        began = time.monotonic()
        adapt(args.cell["adapt"], args, args.cell.get("split_pairs", False))
        print(json.dumps({"seconds": round(time.monotonic() - began, 1)}))
    elif args.cell:
        print(json.dumps(run_cell(args.cell, args)))
    elif args.analyses:
        analyses(args)
    else:
        if args.table is None:
            write_data(args.data, args.work)
            Cells(args, argv).run()
            print(f"\n{', '.join(f'{name} {value}' for name, value in machine().items())}\n")
        rows = read_rows(args.table or args.out)
        print(markdown(rows))
        if args.plot:
            draw(rows, args.plot)


if __name__ == "__main__":
    main()
