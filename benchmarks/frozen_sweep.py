"""Every fusion of a frozen encoder on real data, many seeds side by side: the raw scores behind docs/results/.

    python benchmarks/frozen_sweep.py ner --data PANX --group core --out core.json

PANX is a folder with `<language>/train.tsv`, `dev.tsv`, `test.tsv` (word, tab, tag). For `pos` it is a folder with
`train-en.tsv`, `dev-en.tsv` and `test-<language>.tsv`. Training and selection see English alone. Target languages are
scored on `test` where it is labelled, on `dev` otherwise, after every epoch, and choose nothing. Wants a GPU: 20,000
sentences and 47 languages of 500 sentences hold about 10 GB of states.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.frozen import HeadSpec, TaggedStates, encode_tagged, train_heads
from dlfa_adapters.frozen.scores import accuracy, span_f1
from dlfa_adapters.offline import load_offline_encoder
from dlfa_adapters.tasks import NER, POS

LAYERS = range(1, 13)
NESTED = ((9, 6), (10, 7, 4), (11, 9, 7, 5, 3))


def specs(group: str, seeds: int) -> list[HeadSpec]:
    """The heads of a group; each in `seeds` copies with other first weights."""
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
        core[0],
        *({"name": f"norm layer D_{k}", "fuse_layer": (k,), **layered} for k in LAYERS),
        *({"name": f"norm layer nested {'-'.join(map(str, ks))}", "fuse_layer": ks, **layered} for ks in NESTED),
        {"name": "norm layer product D_7", "fuse_layer": (7,), "norm": "layer", "gate": "product"},
    ]
    chosen = {"core": core, "controls": controls, "variants": variants, "norms": norms}[group]
    return [HeadSpec(**{**s, "name": f"{s['name']} | {seed}", "seed": seed}) for s in chosen for seed in range(seeds)]


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
    return encode_tagged(model, tokenizer, words, tags, max_tokens=65536, keep_on=device)


def main() -> None:
    """Encode, train, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["ner", "pos"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--group", choices=["core", "controls", "variants", "norms"], default="core")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--limit", type=int, default=500, help="sentences a target language")
    parser.add_argument("--heads-at-once", type=int, default=1000, help="scores are written after so many")
    args = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    task = {"ner": NER, "pos": POS}[args.task]
    model, tokenizer = load_offline_encoder()
    model.to(device)
    start = time.perf_counter()
    train_file, dev_file, test_files = files(args.task, args.data)
    train = encode(model, tokenizer, train_file, None, device)
    dev = encode(model, tokenizer, dev_file, 2000, device)
    tests = {language: encode(model, tokenizer, path, args.limit, device) for language, path in test_files.items()}
    seconds = {"states": round(time.perf_counter() - start, 1)}
    print(f"{len(train.words)} training sentences, {len(tests)} languages, states in {seconds['states']} s", flush=True)

    start, heads = time.perf_counter(), []
    todo = specs(args.group, args.seeds)
    for first in range(0, len(todo), args.heads_at_once):
        heads += train_heads(
            todo[first : first + args.heads_at_once],
            train,
            dev,
            task.labels,
            span_f1 if args.task == "ner" else accuracy,
            epochs=args.epochs,
            learning_rate=args.learning_rate,
            watch=tests,
        )
        seconds["heads"] = round(time.perf_counter() - start, 1)
        print(f"{len(heads)} of {len(todo)} heads after {seconds['heads']} s", flush=True)
        result = {
            "arguments": {**vars(args), "data": args.data.name, "out": args.out.name},
            "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
            "torch": torch.__version__,
            "seconds": seconds,
            "files": {language: path.stem.split("-")[0] for language, path in test_files.items()},
            "sentences": {language: len(data.words) for language, data in tests.items()},
            "heads": [
                {
                    "name": head.spec.name,
                    "dev": [round(x, 2) for x in head.dev_scores],
                    "languages": {language: [round(x, 2) for x in xs] for language, xs in head.watched.items()},
                }
                for head in heads
            ],
        }
        args.out.write_text(json.dumps(result) + "\n", "utf-8")


if __name__ == "__main__":
    main()
