"""Small BERTs from scratch: two amounts of text, two windows, beside word2vec on the same text; words and transfer.

    python benchmarks/pretraining_study.py --data DATA --out pretraining.jsonl         # minutes on one GPU
    python benchmarks/pretraining_study.py --data DATA --try --out try.jsonl           # a minute or two, no GPU
    python benchmarks/pretraining_study.py --table pretraining.jsonl --plot pretraining.svg

Figures 1 to 6 of Liu et al. 2020 (arXiv 2004.09205) in small. DATA holds `lm_text/en.txt`, a paragraph a line,
`xling_bli/en-de/yacle.test.freq.2k.en-de.tsv`, `panx/en/dev.tsv`, `xnli/test-en.tsv`, and these in other languages; and
what English is learnt from, see `TASKS`.

Every encoder is a process of its own, several at a time; each reads the same vocabulary, that of the larger text, and
learns from as many pieces. Then all of them are asked for the same words. A line of the output is an encoder, or a
dictionary; what is there is not run again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from measuring import machine, table

DICTIONARIES = ("de", "fr", "ru", "tr")
"""With English; those of XLING-BLI whose languages there is text of."""

TASKS = {
    "ner": {
        "train": "panx/en/train.tsv",
        "dev": "panx/en/dev.tsv",
        "test": "panx/{}/dev.tsv",
        "en": "panx/en/test.tsv",
    },
    "xnli": {"train": "taxinli/train-en.tsv", "dev": "xnli/dev-en.tsv", "test": "xnli/test-{}.tsv"},
}
"""English files to learn from and to choose on, and those that are scored: the test files of half of the languages have
no tags in WikiANN, so that dev files stand in for all but English."""

VOCABULARY, CONTEXT = "vocabulary", "in context"
KEYS = ("kind", "size", "window")
SIZES = {"small": 2000, "large": 10_000}
WINDOWS = (512, 20)
TRY = {
    "sizes": {"small": 60, "large": 150}, "pieces": 20_000, "width": 32, "blocks": 1, "epochs": 1, "limit": 10,
    "max_steps": 3, "items": 30, "contexts": 2, "vocabulary": 3000, "words": 200, "tasks": ["ner"],
}  # fmt: skip
"""What `--try` takes instead, to see that the script runs."""


def cells(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The encoders that are wanted."""
    found: list[dict[str, Any]] = []
    for size, sentences in args.sizes.items():
        common = {"size": size, "sentences": sentences, "width": args.width, "vocabulary": args.vocabulary}
        for seed in args.seeds:
            found += [
                {**common, "kind": "bert", "window": window, "pieces": args.pieces, "blocks": args.blocks, "seed": seed}
                for window in WINDOWS
            ]
            found.append({**common, "kind": "word2vec", "window": 5, "epochs": args.epochs, "seed": seed})
    return found


def name_of(cell: dict[str, Any]) -> str:
    """E.g. `bert-large-512-0`."""
    return f"{cell['kind']}-{cell['size']}-{cell['window']}-{cell['seed']}"


def texts(data: Path) -> dict[str, Path]:
    """The file of each language."""
    return {path.stem: path for path in sorted((data / "lm_text").glob("*.txt"))}


def run_cell(cell: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Train an encoder and what is transferred with it; the row of it."""
    from dlfa_adapters.learning.pretrain import RECORD, Shape, pretrain_bert, pretrain_word2vec

    text, folder, began = texts(args.data), args.work / name_of(cell), time.monotonic()
    common = {"sentences": cell["sentences"], "tokenizer": args.work / VOCABULARY, "seed": cell["seed"]}
    if folder.exists():  # it was killed in what follows
        record = json.loads((folder / RECORD).read_text("utf-8"))
    elif cell["kind"] == "bert":
        shape = Shape(width=cell["width"], blocks=cell["blocks"], heads=max(1, cell["width"] // 64))
        options = {"window": cell["window"], "shape": shape, "pieces": cell["pieces"], "workers": args.workers}
        record = pretrain_bert(text, folder, **common, **options).record
    else:
        options = {"width": cell["width"], "window": cell["window"], "epochs": cell["epochs"]}
        record = pretrain_word2vec(text, folder, **common, **options).record
    frozen = ("features", {"classifier": "bilstm", "epochs": args.epochs})
    rate = {"learning_rate": args.learning_rate, "head_learning_rate": args.learning_rate}
    ways = [frozen, ("full", {"max_steps": args.max_steps, **rate})] if cell["kind"] == "bert" else [frozen]
    transfer = [
        {"task": task, "tuning": tuning, **transferred(task, folder, tuning, {**options, "seed": cell["seed"]}, args)}
        for task in args.tasks
        for tuning, options in ways
    ]
    record = {name: value for name, value in record.items() if name != "files"}
    return {"cell": cell, "pretraining": record, "transfer": transfer, "seconds": round(time.monotonic() - began, 1)}


def transferred(
    task: str, folder: Path, tuning: str, options: dict[str, Any], args: argparse.Namespace
) -> dict[str, Any]:
    """Learn a task from English, and score it in every language."""
    from dlfa_adapters import evaluate, train

    data, began = args.work / task, time.monotonic()
    run = train(
        task, train_data=data, dev_data=data, language="en", model=str(folder), tuning=tuning, fusion="last",
        out=args.work / f"{folder.name}-{task}-{tuning}", **options,
    )  # fmt: skip
    report = evaluate(run, data)
    score = next(iter(report.titles))
    scores = {row.language: row.scores[score].value for row in report.table.languages}
    return {"score": report.titles[score], "languages": scores, "seconds": round(time.monotonic() - began, 1)}


def write_samples(task: str, args: argparse.Namespace) -> None:
    """Some items of each file of a task, evenly spread over it, in a folder that all encoders learn from."""
    folder, places = args.work / task, TASKS[task]
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"train": args.items, "dev": min(500, args.items), "test": args.limit}
    between = "\n\n" if task == "ner" else "\n"
    for split, most in sizes.items():
        for language in texts(args.data) if split == "test" else ["en"]:
            name = places.get(language, places[split]) if split == "test" else places[split]
            if (place := args.data / name.format(language)).exists():
                items = place.read_text("utf-8").strip("\n").split(between)
                chosen = items[:: max(1, len(items) // most)][:most]
                (folder / f"{split}-{language}.tsv").write_text(between.join(chosen) + "\n", "utf-8")


def run_all(args: argparse.Namespace) -> None:
    """Train the encoders that are missing, several at a time, then ask all of them for words."""
    from dlfa_adapters.learning.pretrain import read_sentences
    from dlfa_adapters.learning.pretrain.vocabulary import train_tokenizer

    began, wanted = time.monotonic(), cells(args)
    there = [row["cell"] for row in read_rows(args.out) if "cell" in row]
    todo = [cell for cell in wanted if cell not in there or not (args.work / name_of(cell)).is_dir()]
    print(f"{len(todo)} encoders to train, {len(wanted) - len(todo)} are there", flush=True)
    for task in args.tasks:
        write_samples(task, args)
    if not (args.work / VOCABULARY).exists():
        read = read_sentences(texts(args.data), max(args.sizes.values()))
        lines = (line for lines in read.values() for line in lines)
        train_tokenizer(lines, args.vocabulary).save_pretrained(args.work / VOCABULARY)
    threads = str(max(1, (os.cpu_count() or 1) // args.at_once))
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false"}
    argv = [argument for argument in sys.argv[1:] if argument != "--cell"]

    def work(cell: dict[str, Any]) -> None:
        command = [sys.executable, __file__, *argv, "--cell", json.dumps(cell)]
        with tempfile.TemporaryFile("w+") as errors:
            ran = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, check=False
            )
            errors.seek(0)
            failed = errors.read().strip()[-2000:] if ran.returncode else ""
        row = {"cell": cell, "error": failed} if failed else json.loads(ran.stdout.splitlines()[-1])
        note(row, args.out)
        print(f"{time.monotonic() - began:5.0f} s  {name_of(cell)} {failed[-300:]}", flush=True)

    with ThreadPoolExecutor(args.at_once) as pool:
        list(pool.map(work, todo))
    trained = [cell for cell in wanted if (args.work / name_of(cell)).is_dir()]
    for row in ask(trained, args):
        note(row, args.out)
    print(f"{time.monotonic() - began:5.0f} s  words", flush=True)


def ask(trained: Sequence[dict[str, Any]], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Word retrieval of all encoders on the same pairs; a row a dictionary."""
    import torch

    from dlfa_adapters.analysis.retrieval.systems import word_systems
    from dlfa_adapters.analysis.retrieval.words import measure_words
    from dlfa_adapters.analysis.states import open_encoder
    from dlfa_adapters.data.dictionary import by_language, read_dictionary

    folder = args.data / "xling_bli"
    read = [read_dictionary(folder / f"en-{x}" / f"yacle.test.freq.2k.en-{x}.tsv") for x in DICTIONARIES]
    asked = [replace(each, pairs=each.pairs[: args.words]) for each in read]
    needed, text = by_language(asked), texts(args.data)
    models = (replace(open_encoder(str(args.work / name_of(cell))), name=name_of(cell)) for cell in trained)
    places = {language: text[language] for language in needed}
    found = measure_words(word_systems(needed, models=models, texts=places, contexts=args.contexts), asked)
    on = machine("cuda" if torch.cuda.is_available() else "cpu")
    return [
        {"dictionary": each.name, "items": each.items, "scores": each.to_dict()["scores"],
         "coverage": [vars(row) for row in found.coverage if row.languages == each.name], "machine": on}
        for each in found.retrievals
    ]  # fmt: skip


def note(row: dict[str, Any], out: Path) -> None:
    """Add a line to the output."""
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def read_rows(out: Path) -> list[dict[str, Any]]:
    """The lines of a file, those that failed left out; of a dictionary the last."""
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
    latest = {row.get("dictionary") or name_of(row["cell"]): row for row in rows if "error" not in row}
    return list(latest.values())


class Study:
    """The rows, by what is asked of them.

    Args:
        rows: Of `read_rows`.
    """

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.encoders = {name_of(row["cell"]): row for row in rows if "cell" in row}
        self.words = {row["dictionary"]: row for row in rows if "dictionary" in row}

    def kinds(self) -> list[tuple[str, str, int]]:
        """Kind, size and window of the encoders, those of several seeds once: a text after the other."""
        rows = [row["cell"] for row in self.encoders.values()]
        found = dict.fromkeys((cell["kind"], cell["size"], cell["window"]) for cell in rows)
        sizes = list(dict.fromkeys(cell["size"] for cell in rows))
        return sorted(found, key=lambda kind: (sizes.index(kind[1]), kind[0], -kind[2]))

    def of(self, kind: str, size: str, window: int) -> list[str]:
        """The encoders of a kind, one a seed."""
        wanted = (kind, size, window)
        found = [name for name, row in self.encoders.items() if tuple(row["cell"][x] for x in KEYS) == wanted]
        return sorted(found, key=lambda name: int(self.encoders[name]["cell"]["seed"]))

    def mrr(self, name: str, dictionary: str, state: str, how: str = CONTEXT, order: str = "cosine") -> float:
        """The MRR of an encoder in a state, in %."""
        for row in self.words[dictionary]["scores"]:
            if (row["system"], row["state"], row["order"]) == (f"{name}, {how}", state, order):
                return 100 * float(row["mrr"]["value"])
        raise KeyError((name, dictionary, state, how, order))

    def states(self, name: str) -> list[str]:
        """The layers of an encoder."""
        return [str(k) for k in range(self.encoders[name]["pretraining"].get("shape", {"blocks": 0})["blocks"] + 1)]

    def best(self, name: str, **options: str) -> str:
        """The layer with the highest mean MRR over dictionaries."""
        return max(self.states(name), key=lambda state: fmean(self.mrr(name, x, state, **options) for x in self.words))

    def score(self, name: str, task: str, tuning: str) -> dict[str, float]:
        """The scores of a task by language, in %."""
        [found] = [t for t in self.encoders[name]["transfer"] if (t["task"], t["tuning"]) == (task, tuning)]
        return {language: 100 * (value or 0.0) for language, value in found["languages"].items()}

    def ways(self, name: str) -> list[tuple[str, str]]:
        """The tasks and tunings of an encoder."""
        return [(row["task"], row["tuning"]) for row in self.encoders[name]["transfer"]]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Tables by title: of words, of transfer, of what the short window costs."""
    study = Study(rows)
    return {
        "Word retrieval, MRR in %, cosine; words in context, in the layer that is best in the mean": words(study),
        "Transfer, % by language; English is the source": transfer(study),
        "What the window of 20 loses of the score with 512, in % of it": losses(study),
    }


def words(study: Study) -> list[str]:
    """Figures 1, 3 and 5: a line for each kind of encoder."""
    lines = []
    for kind, size, window in study.kinds() if study.words else ():
        names = study.of(kind, size, window)
        best = {name: study.best(name) for name in names}
        values = [fmean(study.mrr(name, x, best[name]) for name in names) for x in study.words]
        each = [fmean(study.mrr(name, x, best[name]) for x in study.words) for name in names]
        cells = [size, kind, window, ", ".join(best.values()), *(f"{value:.1f}" for value in [*values, fmean(values)])]
        lines.append([*cells, ", ".join(f"{value:.1f}" for value in each)])
    return table(["text", "vectors", "window", "layer", *study.words, "mean", "of each seed"], lines).splitlines()


def transfer(study: Study) -> list[str]:
    """Figures 2, 4 and 6a: a line for each kind of encoder, task and tuning."""
    languages = list(
        dict.fromkeys(x for row in study.encoders.values() for t in row["transfer"] for x in t["languages"])
    )
    targets, lines = [x for x in languages if x != "en"], []
    for kind, size, window in study.kinds():
        names = study.of(kind, size, window)
        for task, tuning in study.ways(names[0]):
            scores = [study.score(name, task, tuning) for name in names]
            mean = {x: fmean(each[x] for each in scores) for x in scores[0]}
            each = [fmean(value for x, value in of_one.items() if x != "en") for of_one in scores]
            cells = [f"{mean[x]:.1f}" if x in mean else "" for x in ["en", *targets]]
            over = [f"{fmean(each):.1f}", ", ".join(f"{value:.1f}" for value in each)]
            lines.append([task, size, kind, window, tuning, *cells, *over])
    lines.sort(key=lambda line: line[0])
    header = ["task", "text", "vectors", "window", "tuning", "en", *targets, "mean of targets", "of each seed"]
    return table(header, lines).splitlines()


def losses(study: Study) -> list[str]:
    """Figure 6b: a line for each size, task and tuning."""
    lines = []
    for _, size, _ in [kind for kind in study.kinds() if kind[0] == "bert" and kind[2] == WINDOWS[0]]:
        wide, narrow = (study.of("bert", size, window) for window in WINDOWS)
        for task, tuning in study.ways(wide[0]) if narrow else ():
            before, after = ([study.score(name, task, tuning) for name in names] for names in (wide, narrow))
            lost = []
            for x in before[0]:
                at_512, at_20 = (fmean(each[x] for each in scores) for scores in (before, after))
                lost.append(f"{x} {100 * (at_512 - at_20) / at_512:+.0f}" if at_512 else f"{x} –")
            lines.append([task, size, tuning, ", ".join(lost)])
    return table(["task", "text", "tuning", "loss"], lines).splitlines()


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """MRR by layer and by dictionary, and a panel for each task and tuning by language; means over seeds."""
    import matplotlib
    from matplotlib.figure import Figure

    study = Study(rows)
    ways = list(dict.fromkeys(way for name in study.encoders for way in study.ways(name)))
    across = (3 + len(ways)) // 2
    figure = Figure(figsize=(3.6 * across, 6.4), layout="constrained")
    axes = list(figure.subplots(2, across).flat)
    by_layer, by_dictionary, *panels = axes[: 2 + len(ways)]
    for unused in axes[2 + len(ways) :]:
        unused.set_axis_off()
    for kind, size, window in study.kinds():
        names = study.of(kind, size, window)
        label = f"{kind}, {size}" if kind == "word2vec" else f"{kind} {window}, {size}"
        color = {"word2vec": "gray"}.get(kind, "C0" if window == WINDOWS[0] else "C1")
        style = {"color": color, "label": label, "ls": "-" if size == list(SIZES)[-1] else ":"}
        if study.words:
            layers = study.states(names[0])
            means = [fmean(study.mrr(name, x, state) for x in study.words for name in names) for state in layers]
            if len(means) > 1:
                by_layer.plot(means, marker=".", **style)
            else:
                by_layer.axhline(means[0], **style)
            values = [fmean(study.mrr(name, x, study.best(name)) for name in names) for x in study.words]
            by_dictionary.plot(list(study.words), values, marker=".", **style)
        for panel, way in zip(panels, ways, strict=True):
            panel.set_title(", ".join(way), fontsize=9)
            panel.set(ylabel="F1, %" if way[0] == "ner" else "accuracy, %; a third is chance")
            if way in study.ways(names[0]):
                scores = [study.score(name, *way) for name in names]
                panel.plot(list(scores[0]), [fmean(each[x] for each in scores) for x in scores[0]], marker=".", **style)
    by_layer.set(xlabel="layer", ylabel="MRR, %, mean over dictionaries")
    by_dictionary.set(ylabel="MRR, %, best layer")
    by_layer.legend(fontsize=7)
    with matplotlib.rc_context({"svg.hashsalt": "pretraining"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with all data")
    parser.add_argument("--out", type=Path, default=Path("pretraining.jsonl"))
    parser.add_argument("--work", type=Path, help="for encoders and runs; default: beside the output")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0])
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=list(TASKS))
    parser.add_argument("--sizes", type=json.loads, default=SIZES, help='sentences a language, as {"small": 2000}')
    parser.add_argument("--pieces", type=int, default=25_000_000, help="that a BERT learns from, again and again")
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=10, help="of word2vec, and of heads on frozen states")
    parser.add_argument("--items", type=int, default=5000, help="English examples of a task")
    parser.add_argument("--max-steps", type=int, default=600, help="of a task that the whole encoder learns")
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="of such a task: small models need more")
    parser.add_argument("--limit", type=int, default=1000, help="items of each language that are scored")
    parser.add_argument("--words", type=int, default=2000, help="pairs of each dictionary")
    parser.add_argument("--contexts", type=int, default=20, help="of a word, over which its states are averaged")
    parser.add_argument("--at-once", type=int, default=6, help="processes at a time")
    parser.add_argument("--workers", type=int, default=2, help="processes that mask rows, for each BERT")
    parser.add_argument("--try", dest="only_try", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--table", type=Path, help="print the tables of this file, and do nothing else")
    parser.add_argument("--plot", type=Path, help="draw them, too")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_try:
        vars(args).update(TRY, workers=0, at_once=1)
    args.work = args.work or args.out.with_suffix("")
    if args.cell:
        print(json.dumps(run_cell(args.cell, args)), flush=True)
        return
    if args.table is None:
        run_all(args)
    rows = read_rows(args.table or args.out)
    for title, lines in tables(rows).items():
        print("\n".join(["", title, "", *lines]))
    if args.plot:
        draw(rows, args.plot)


if __name__ == "__main__":
    main()
