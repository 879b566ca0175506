"""Every fusion of a frozen encoder on real data, many seeds side by side: the raw scores behind docs/results/.

    python benchmarks/frozen_sweep.py ner --data PANX --out ner-{group}.json

Every head has a learning rate of its own: with the first seed it is trained at all `--rates` side by side, on English
training and dev data alone, and all seeds are then trained at the one that is best on English dev. A head whose best
rate is at an end of `--rates` is trained at those of `--further` that lie beyond it, too. All groups of heads have
equally many epochs.

`--take-up` reads the files of `--out` that are there, tries `--further` for their heads that are at an end of what was
tried, and trains the seeds of those anew that find a better rate.

PANX is a folder with `<language>/train.tsv`, `dev.tsv`, `test.tsv` (word, tab, tag). For `pos` it is a folder with
`train-en.tsv`, `dev-en.tsv` and `test-<language>.tsv`. Training and selection see English alone. Target languages are
scored on `test` where it is labelled, on `dev` otherwise, after every epoch, and choose nothing. Wants a GPU: 20,000
sentences and 42 languages of 500 sentences hold about 10 GB of states.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from frozen_sweep_tables import heads_table

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.encoders import load_offline_encoder
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.features import all_rates
from dlfa_adapters.learning.frozen import HeadSpec, Linear, TaggedStates, encode_tagged, learn_on_states, train_heads
from dlfa_adapters.learning.frozen.learn import edge
from dlfa_adapters.tasks import NER, POS

LAYERS = range(1, 13)
NESTED = ((9, 6), (10, 7, 4), (11, 9, 7, 5, 3))


GROUPS = ("core", "controls", "variants", "norms")


def specs(group: str) -> list[HeadSpec]:
    """The heads of a group, with the first seed."""
    core = [
        {"name": "last", "fusion": "last"},
        *({"name": f"attention D_{k}", "fuse_layer": (k,), "gate": "attention"} for k in LAYERS),
        *({"name": f"product D_{k}", "fuse_layer": (k,), "gate": "product"} for k in LAYERS),
    ]
    controls = [
        *({"name": f"layer {k}", "fusion": "layer", "fuse_layer": (k,)} for k in range(12)),
        {"name": "scalar mix", "fusion": "scalar_mix"},
        *({"name": f"concat {k}", "fusion": "concat", "fuse_layer": (k,)} for k in range(1, 12)),
    ]
    at7 = {"fuse_layer": (7,), "gate": "attention"}
    variants = [
        *(
            {"name": f"nested {'-'.join(map(str, layers))}", "fuse_layer": layers, "gate": "attention"}
            for layers in NESTED
        ),
        *({"name": f"identity D_{k}", "fuse_layer": (k,), "gate": "attention", "init": "identity"} for k in (4, 7, 8)),
        *({"name": f"D_7 {branches}", "branches": branches, **at7} for branches in ("global", "local")),
        *({"name": f"D_7 norm {norm}", "norm": norm, **at7} for norm in ("layer", "none")),
        *({"name": f"D_7 reduction {r}", "reduction": r, **at7} for r in (1, 16)),
    ]
    layered = {"gate": "attention", "norm": "layer"}
    norms = [
        *({"name": f"norm layer D_{k}", "fuse_layer": (k,), **layered} for k in LAYERS),
        *({"name": f"norm layer nested {'-'.join(map(str, ks))}", "fuse_layer": ks, **layered} for ks in NESTED),
        {"name": "norm layer product D_7", "fuse_layer": (7,), "norm": "layer", "gate": "product"},
    ]
    chosen = {"core": core, "controls": controls, "variants": variants, "norms": norms}[group]
    return [HeadSpec.of(**options) for options in chosen]


def files(task: str, data: Path) -> tuple[Path, Path, dict[str, Path]]:
    """English train and dev, and the file that each language is scored on."""
    if task == "pos":
        tests = {path.stem.removeprefix("test-"): path for path in sorted(data.glob("test-*.tsv"))}
        return data / "train-en.tsv", data / "dev-en.tsv", tests
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    tests = {f.name: f / "test.tsv" if (f / "test.tsv").exists() else f / "dev.tsv" for f in folders}
    return data / "en" / "train.tsv", data / "en" / "dev.tsv", tests


def encode(model: object, tokenizer: object, path: Path, limit: int | None, device: str) -> TaggedStates:
    """The first sentences of a file with their states, kept on the device."""
    items = read_file(path).items[:limit]
    words, tags = [item.words for item in items], [item.tags for item in items]
    return encode_tagged(model, tokenizer, words, tags, max_tokens=65536, cache_on=device)


@dataclass
class Tried:
    """What was tried for a head.

    Attributes:
        dev: The best English dev score at each rate, ascending.
        rate: The one that was chosen.
    """

    dev: dict[float, float]
    rate: float

    def further(self, other: "Tried") -> bool:
        """Take in what was tried beyond an end; whether that is better."""
        better = other.dev[other.rate] > self.dev[self.rate]
        self.dev = dict(sorted({**self.dev, **other.dev}.items()))
        self.rate = other.rate if better else self.rate
        return better


class Sweep:
    """Heads of a task on states that were computed once.

    Args:
        args: Of the command line.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.task = {"ner": NER, "pos": POS}[args.task]
        self.scorer = kind_of_task(self.task).scorer()
        model, tokenizer = load_offline_encoder()
        model.to(device)
        start = time.perf_counter()
        train_file, dev_file, self.files = files(args.task, args.data)
        self.train = encode(model, tokenizer, train_file, None, device)
        self.dev = encode(model, tokenizer, dev_file, 2000, device)
        self.tests = {
            language: encode(model, tokenizer, path, args.limit, device) for language, path in self.files.items()
        }
        self.states = seconds_since(start)
        self.device = torch.cuda.get_device_name() if device == "cuda" else "cpu"
        print(f"{len(self.train.words)} sentences, {len(self.tests)} languages, states in {self.states} s", flush=True)

    def tried(self, variants: list[HeadSpec], rates: list[float]) -> dict[str, Tried]:
        """Train every head at every rate with the first seed."""
        found = {}
        for some in at_once(variants, self.args.heads_at_once // max(1, len(rates))):
            schedule, own = Linear(self.args.epochs), [all_rates(rates)] * len(some)
            for trial in learn_on_states(some, self.train, self.dev, self.task, schedule, rates=own):
                pairs = zip(trial.rates, trial.dev, strict=True)
                dev = {rate.learning_rate: round(score, 2) for rate, score in pairs}
                found[trial.head.spec.name] = Tried(dev, trial.rate.learning_rate)
        return found

    def widen(self, variants: list[HeadSpec], tried: dict[str, Tried]) -> list[HeadSpec]:
        """Try further rates for the heads that are at an end of what was tried; those that found a better one."""
        names: list[str] = []
        for end, outer in (("lowest", min), ("highest", max)):
            ended = outer(self.args.rates)
            rates = [rate for rate in self.args.further if rate != ended and outer(rate, ended) == rate]
            at_end = [spec for spec in variants if edge(tried[spec.name].rate, list(tried[spec.name].dev)) == end]
            if rates and at_end:
                names += [name for name, more in self.tried(at_end, rates).items() if tried[name].further(more)]
        return [spec for spec in variants if spec.name in names]

    def trained(self, variants: list[HeadSpec], tried: dict[str, Tried]) -> list[dict[str, Any]]:
        """All seeds of every head at its best rate, scored on every language after every epoch."""
        seeds = range(self.args.seeds)
        todo = [(replace(spec, seed=seed), tried[spec.name].rate) for spec in variants for seed in seeds]
        heads = []
        for some in at_once(todo, self.args.heads_at_once):
            own = [rate for _, chosen in some for rate in all_rates([chosen])]
            heads += train_heads(
                [spec for spec, _ in some], self.train, self.dev, self.task.labels, self.scorer, rates=own,
                epochs=self.args.epochs, watch=self.tests,
            )  # fmt: skip
        return [
            {
                "name": head.spec.name,
                "seed": head.spec.seed,
                "rate": head.rate.learning_rate,
                "epoch": head.epoch,
                "dev": [round(x, 2) for x in head.dev_scores],
                "losses": [round(x, 4) if isfinite(x) else None for x in head.dev_losses],
                "languages": {language: [round(x, 2) for x in xs] for language, xs in head.watched.items()},
            }
            for head in heads
        ]

    def group(self, group: str) -> dict[str, Any]:
        """A group of heads from its trials on."""
        start, variants = time.perf_counter(), specs(group)
        tried = self.tried(variants, self.args.rates)
        self.widen(variants, tried)
        seconds = {"states": self.states, "trials": seconds_since(start)}
        print(f"{group}: rates of {len(tried)} heads after {seconds['trials']} s", flush=True)
        start = time.perf_counter()
        heads = self.trained(variants, tried)
        seconds["heads"] = seconds_since(start)
        print(f"{group}: {len(heads)} heads with {self.args.seeds} seeds after {seconds['heads']} s", flush=True)
        return {
            "arguments": {
                **vars(self.args), "data": self.args.data.name, "out": Path(self.args.out).name, "groups": [group],
            },
            "device": self.device,
            "torch": torch.__version__,
            "seconds": seconds,
            "files": {language: path.stem.split("-")[0] for language, path in self.files.items()},
            "sentences": {language: len(data.words) for language, data in self.tests.items()},
            "trials": as_json(tried),
            "heads": heads,
        }  # fmt: skip

    def taken_up(self, result: dict[str, Any]) -> dict[str, Any]:
        """A group whose heads at an end of the rates are tried further, the others as they are."""
        start, variants = time.perf_counter(), specs(result["arguments"]["groups"][0])
        chosen = {head["name"]: head["rate"] for head in result["heads"]}
        tried = {
            name: Tried({float(rate): score for rate, score in dev.items()}, chosen[name])
            for name, dev in result["trials"].items()
        }
        moved = self.widen(variants, tried)
        anew = {(head["name"], head["seed"]): head for head in self.trained(moved, tried)}
        further = {"rates": self.args.further, "heads": [spec.name for spec in moved], "device": self.device}
        further["seconds"] = seconds_since(start)
        print(f"{result['arguments']['groups'][0]}: {len(moved)} heads anew after {further['seconds']} s", flush=True)
        heads = [anew.get((head["name"], head["seed"]), head) for head in result["heads"]]
        return {**result, "further": further, "trials": as_json(tried), "heads": heads}


def as_json(tried: dict[str, Tried]) -> dict[str, dict[str, float]]:
    """The scores by head and rate."""
    return {name: {f"{rate:g}": score for rate, score in one.dev.items()} for name, one in tried.items()}


def seconds_since(start: float) -> float:
    """On the wall clock, to a tenth."""
    return round(time.perf_counter() - start, 1)


def main() -> None:
    """Encode, train, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["ner", "pos"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--out", required=True, help="a file for each group, with {group} in its name")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3, 3e-3, 1e-2, 3e-2])
    parser.add_argument("--further", type=float, nargs="*", default=[3e-4, 1e-1, 3e-1])
    parser.add_argument("--take-up", action="store_true", help="go on with the files that are there")
    parser.add_argument("--limit", type=int, default=500, help="sentences a target language")
    parser.add_argument("--heads-at-once", type=int, default=1000)
    args = parser.parse_args()

    sweep, results = Sweep(args), []
    for group in args.groups:
        out = Path(args.out.replace("{group}", group))
        there = json.loads(out.read_text("utf-8")) if args.take_up else None
        result = sweep.taken_up(there) if there else sweep.group(group)
        out.write_text(json.dumps(result) + "\n", "utf-8")
        results.append(result)
    print("\n".join(heads_table(results)))


def at_once(items: list[Any], size: int) -> Iterator[list[Any]]:
    """Stretches of a list."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


if __name__ == "__main__":
    main()
