"""Every fusion of a frozen encoder on real data, many seeds side by side: the raw scores behind docs/results/.

    python benchmarks/frozen_sweep.py ner --data PANX --out ner-{group}.json

Every head has a learning rate of its own: with the first seed it is trained at all `--rates` side by side, on English
training and dev data alone, and all seeds are then trained at the one that is best on English dev. All groups of heads
have equally many epochs.

PANX is a folder with `<language>/train.tsv`, `dev.tsv`, `test.tsv` (word, tab, tag). For `pos` it is a folder with
`train-en.tsv`, `dev-en.tsv` and `test-<language>.tsv`. Training and selection see English alone. Target languages are
scored on `test` where it is labelled, on `dev` otherwise, after every epoch, and choose nothing. Wants a GPU: 20,000
sentences and 42 languages of 500 sentences hold about 10 GB of states.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from frozen_sweep_tables import print_heads

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.encoders import load_offline_encoder
from dlfa_adapters.learning.frozen import HeadSpec, TaggedStates, encode_tagged, train_heads
from dlfa_adapters.learning.frozen.scores import accuracy, span_f1
from dlfa_adapters.learning.frozen.trials import all_rates, try_rates
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
    return [HeadSpec(**options) for options in chosen]


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
    parser.add_argument("--limit", type=int, default=500, help="sentences a target language")
    parser.add_argument("--heads-at-once", type=int, default=1000)
    args = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    task = {"ner": NER, "pos": POS}[args.task]
    scorer = span_f1 if args.task == "ner" else accuracy
    model, tokenizer = load_offline_encoder()
    model.to(device)
    start = time.perf_counter()
    train_file, dev_file, test_files = files(args.task, args.data)
    train = encode(model, tokenizer, train_file, None, device)
    dev = encode(model, tokenizer, dev_file, 2000, device)
    tests = {language: encode(model, tokenizer, path, args.limit, device) for language, path in test_files.items()}
    states = round(time.perf_counter() - start, 1)
    print(f"{len(train.words)} training sentences, {len(tests)} languages, states in {states} s", flush=True)

    results: list[dict[str, Any]] = []
    for group in args.groups:
        start, variants = time.perf_counter(), specs(group)
        trials = []
        for some in at_once(variants, args.heads_at_once // len(args.rates)):
            rates = all_rates(args.rates)
            trials += try_rates(some, train, dev, task.labels, scorer, rates=rates, epochs=args.epochs)
        seconds = {"states": states, "trials": round(time.perf_counter() - start, 1)}
        print(f"{group}: {len(trials)} heads at {len(args.rates)} rates after {seconds['trials']} s", flush=True)

        start, heads = time.perf_counter(), []
        todo = [(replace(spec, seed=seed), trial.rate) for spec, trial in zip(variants, trials, strict=True)
                for seed in range(args.seeds)]  # fmt: skip
        for some in at_once(todo, args.heads_at_once):
            own = [rate for _, rate in some]
            heads += train_heads(
                [spec for spec, _ in some], train, dev, task.labels, scorer, rates=own, epochs=args.epochs, watch=tests
            )
        seconds["heads"] = round(time.perf_counter() - start, 1)
        print(f"{group}: {len(heads)} heads with {args.seeds} seeds after {seconds['heads']} s", flush=True)
        result = {
            "arguments": {**vars(args), "data": args.data.name, "out": Path(args.out).name, "groups": [group]},
            "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
            "torch": torch.__version__,
            "seconds": seconds,
            "files": {language: path.stem.split("-")[0] for language, path in test_files.items()},
            "sentences": {language: len(data.words) for language, data in tests.items()},
            "trials": {
                trial.head.spec.name: {
                    f"{rate.learning_rate:g}": round(dev, 2) for rate, dev in zip(trial.rates, trial.dev, strict=True)
                }
                for trial in trials
            },
            "heads": [
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
            ],
        }
        Path(args.out.replace("{group}", group)).write_text(json.dumps(result) + "\n", "utf-8")
        results.append(result)
    print_heads(results)


def at_once(items: list[Any], size: int) -> Iterator[list[Any]]:
    """Stretches of a list."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


if __name__ == "__main__":
    main()
