"""The tables of docs/results/speed-and-memory.md, each from the files of its benchmark."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from measuring import table

RAW = Path(__file__).parents[1] / "docs" / "results" / "raw"


@cache
def result(name: str) -> dict[str, Any]:
    """What a benchmark wrote, `speed-NAME.json`."""
    return json.loads((RAW / f"speed-{name}.json").read_text("utf-8"))


def cell(name: str, row: int, column: str, place: int = 0) -> float:
    """A number in a cell of a benchmark's table: the first one, or another of a range."""
    found = result(name)
    return [float(number) for number in re.findall(r"[\d.]+", found["rows"][row][found["header"].index(column)])][place]


def ratio(text: str) -> str:
    """A ratio and its quartiles, with two decimals."""
    first, low, high = re.findall(r"[\d.]+", text)
    return f"{float(first):.2f} ({float(low):.2f} to {float(high):.2f})"


def head_cpu() -> list[str]:
    """A DLFA head against a stock one, on a processor."""
    rows = [[row[0], row[4], row[7]] for row in result("head-cpu")["rows"]]
    return table(["encoder", "pass", "DLFA / stock"], rows).splitlines()


def head_gpu() -> list[str]:
    """The same on a GPU: eager, the fusion compiled, all compiled."""
    sides = [result(f"head{side}-gpu")["rows"] for side in ("", "-fusion", "-compiled")]
    rows = []
    for which in ("training step", "forward"):
        for eager, fusion, everything in zip(*sides, strict=True):
            if eager[4] == which:
                ratios = [ratio(row[7]) for row in (eager, fusion, everything)]
                rows.append([eager[0], eager[1].replace("x", " x "), which, f"{float(eager[5]):.1f}", *ratios])
    header = ["encoder", "batch", "pass", "stock, ms", "eager", "fusion compiled", "all compiled"]
    return table(header, rows).splitlines()


def evaluation(name: str) -> list[str]:
    """Tagging many languages, ours and the example."""
    rows = []
    for side, _, speed, faster, differ, untagged in result(name)["rows"]:
        different, _, words = differ.partition(" of ")
        told = "" if side == "ours" else f"{int(different):,} of {int(words):,}"
        rows.append([side, f"{int(speed):,}", faster, told, f"{int(untagged.split()[0]):,}"])
    header = ["side", "sentences / s", "ours is faster by", "tags that differ from ours", "words without a tag"]
    return table(header, rows).splitlines()


def parsing() -> list[str]:
    """Parsing many languages, and the tree searches alone."""
    rows = []
    for what, side, speed, faster, heads, sums in result("parsing-cpu")["rows"]:
        others = ["", ""] if side == "ours" else [_counted(heads), _counted(sums)]
        rows.append([what, side, f"{int(speed):,}", faster, *others])
    header = ["what", "side", "sentences / s", "ours is faster by", "words with another head", "trees with another sum"]
    return table(header, rows).splitlines()


def searched(whose: str) -> float:
    """The share of sentences whose best heads are no tree, in percent; scores by `the model` or `counting`."""
    return 100 * float(result("parsing-cpu")["searched"][whose])


def pseudo_perplexity() -> list[str]:
    """Every piece hidden in turn, in batches, and one at a time."""
    rows = [[side, speed, ratio(slower), off] for side, speed, slower, off in result("pppl-cpu")["rows"]]
    header = ["side", "pieces / s", "ours is faster by", "largest difference of a log-probability"]
    return table(header, rows).splitlines()


def _counted(text: str) -> str:
    """`21 of 1,207`."""
    return " of ".join(f"{int(number):,}" for number in text.split(" of "))


def export() -> list[str]:
    """An exported model against PyTorch."""
    rows = [[side, load, tag, ratio(against)] for side, load, tag, against in result("export-cpu")["rows"]]
    return table(["side", "to load, CPU s", "to tag, CPU s", "against PyTorch"], rows).splitlines()


def memory() -> list[str]:
    """Peak memory on a GPU, and what the count of tensors says on a processor."""
    counted = dict(result("memory-counted")["rows"])
    aims = {"lora": "4", "features": "1.5"}
    rows = [
        [f"`{name}`", held, live, aims.get(name, ""), counted[name]]
        for name, held, live in result("memory-gpu")["rows"]
    ]
    return table(["tuning", "held by PyTorch, GB", "of it tensors, GB", "aim", "counted, GB"], rows).splitlines()


def compiled() -> list[str]:
    """A training with nothing, the fusion, or all of the model compiled."""
    names = {"eager": "nothing", "fusion": "the fusion", "whole": "the whole model"}
    rows = [[tuning, names[what], *times] for tuning, what, *times in result("compiled-training-gpu")["rows"]]
    return table(["tuning", "compiled", "first step, s", "later, ms a step"], rows).splitlines()


def from_block() -> list[str]:
    """`freeze:N` from cached states against through all blocks; of the whole training there is one pair."""
    rows = [
        [f"`{tuning}`", ratio(steps), ratio(epoch), f"{float(training.split()[0]):.2f}"]
        for tuning, steps, epoch, training, _ in sorted(result("from-block-cpu")["rows"])
    ]
    return table(["tuning", "steps, cached / through", "epoch", "training"], rows).splitlines()


def frozen() -> list[str]:
    """Thirteen heads on frozen states against thirteen Trainer runs."""
    header = ["machine", "sentences", "states, s", "heads, s", "13 x Trainer, s", "ratio"]
    rows = [
        ["H100", size.replace("(", "").replace(")", ""), *cells] for size, _, *cells in result("frozen-gpu")["rows"]
    ]
    return table(header, rows).splitlines()


def trainer_step(which: str) -> float:
    """Milliseconds of a Trainer step of one model, `last` or `D_8`, beside the stacked ones."""
    return 1000 * result("finetuned-gpu")["trainer"][which]["seconds a step"]


def stacked_ratio(models: int, trainer: str) -> float:
    """How much faster stacked models are than that many of Trainer's, at the step of one of its two models."""
    [found] = [row for row in result("finetuned-gpu")["stacked"] if row["members"] == models]
    return models * trainer_step(trainer) / (1000 * found["seconds a step"])


def stacked() -> list[str]:
    """Fine-tuned models stacked against one after another."""
    header = [
        "models at once",
        "ms a step",
        "ms a step and model",
        "against D_8 by Trainer",
        "against last by Trainer",
        "GB",
    ]
    rows = [
        [models, step, f"{float(each):.1f}", *(f"{stacked_ratio(int(models), x):.1f}" for x in ("D_8", "last")), memory]
        for models, step, each, _, _, memory, _ in result("finetuned-gpu")["rows"]
    ]
    return table(header, rows).splitlines()


def starting() -> list[str]:
    """Starting the command line."""
    rows = [[command, seconds, ratio(against)] for command, seconds, _, against in result("startup-cpu")["rows"]]
    return table(["command", "CPU, s", "CPU against the first"], rows).splitlines()


def head_probes() -> list[str]:
    """Probes of all attention heads side by side, and one after another; the ratio of each round."""
    found = result("head-probing-gpu")
    seconds = found["seconds"]
    heads, values, sentences, once, *times, _, apart = found["rows"][0]
    ours, theirs = (seconds[side] for side in ("side by side", "one after another"))
    scale = float(times[1]) / min(theirs)
    ratios = sorted(scale * b / a for a, b in zip(ours, theirs, strict=True))
    header = [name for name in found["header"] if name != "times faster"]
    header.insert(-1, "times faster, each round")
    faster = ", ".join(f"{ratio:.0f}" for ratio in ratios)
    return table(header, [[heads, values, f"{sentences:,}", once, *times, faster, apart]]).splitlines()


def neighbours() -> list[str]:
    """Ranks among neighbours in blocks, and from the whole matrix."""
    found = result("retrieval-cpu")
    return table(found["header"], found["rows"]).splitlines()
