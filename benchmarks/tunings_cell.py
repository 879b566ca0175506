"""One cell of `tunings.py`: trains, reloads in another process, scores target languages; a process of its own.

    python benchmarks/tunings_cell.py '{"task": "ner", "tuning": "lora", "head": "dlfa"}'

The last line on stdout is a JSON object with what was measured.
"""

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds import scores_for
from dlfa_adapters.learning import train
from dlfa_adapters.learning.language.train import train_language
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.runs import Run

HEADS: dict[str, dict[str, Any]] = {
    "dlfa": {"fusion": "dlfa"},
    "layer-norm": {"fusion": "dlfa", "norm": "layer"},
    "last": {"fusion": "last"},
    "layer": {"fusion": "layer"},
    "bilstm": {"fusion": "scalar_mix", "classifier": "bilstm"},
    "layer-bilstm": {"fusion": "layer", "classifier": "bilstm"},
    "dlfa-bilstm": {"fusion": "dlfa", "norm": "layer", "classifier": "bilstm"},
    "last-bilstm": {"fusion": "last", "classifier": "bilstm"},
    "last-upos": {"fusion": "last", "upos": "gold"},
}
"""DLFA at a fuse layer, also with layer norm in its gate; the last layer; that one layer alone; Wu and Dredze 2019 on
frozen features, and their LSTM on one layer and on DLFA; a parser that reads gold parts of speech. `dlfa@7` says the
fuse layer."""

TEXTS = ["Anna Schmidt met Bob in New York.", "Habari", "王小明在北京大学学习。", "2 + 2 = 5, isn't it?"]


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Train, reload, score.

    Args:
        cell: `task`, `tuning`, `head`; and optionally `data`, `fuse_layer`, `languages`, `limit`, `language_adapters`,
            `limit_train`, `limit_dev`, `model`, `reload` (False: no look at a reloaded run), and options of `train`
            under `options`.

    Returns:
        The measurements.
    """
    splits = split_of(cell["data"], cell["task"], ["en", *cell["languages"]]) if cell.get("languages") else {}
    folder = Path(tempfile.mkdtemp(prefix="tunings-"))
    try:
        layer = re.search(r"@(\d+)", cell["head"])
        head = dict(HEADS[re.sub(r"@\d+", "", cell["head"])])
        if layer or (head["fusion"] in ("dlfa", "layer") and cell.get("fuse_layer") is not None):
            head["fuse_layer"] = int(layer[1]) if layer else cell["fuse_layer"]
        kept: dict[str, Any] = {}
        run = train(
            cell["task"],
            train_data=items(cell, "train", cell.get("limit_train")),
            dev_data=items(cell, "dev", cell.get("limit_dev", 2000)),
            language="en",
            model=cell.get("model", "offline"),
            tuning=cell["tuning"],
            out=folder / "run",
            on_start=lambda plan: kept.update(plan=plan),
            **head,
            **cell.get("options", {}),
        )
        told = run.config["training"]
        found = {
            "head": {name: run.config["head"][name] for name in ("fusion", "fuse_layer", "gate", "norm", "classifier")},
            "dev": max(told["dev_scores"]),
            "kept": told["best"],
            "rates": [told["learning_rate"], told["head_learning_rate"]],
            "epochs": told["epochs"],
            "seconds": told["seconds"],
            "trainable": told["trainable_parameters"],
            "parameters": told["parameters"],
            "peak_memory_mb": told["peak_memory_mb"],
            "device": told["device"],
            "equal_after_reload": equal_in_another_process(run, kept["plan"], folder)
            if cell.get("reload", True)
            else None,
        }
        if splits:
            start = time.monotonic()
            found["all_scores"], found["splits"] = target_scores(run, cell, splits), splits
            main = next(iter(found["all_scores"].values()))
            found["scores"] = {language: score or 0.0 for language, score in main.items()}
            found["scoring_seconds"] = round(time.monotonic() - start, 1)
        return found
    finally:
        shutil.rmtree(folder)


def items(cell: dict[str, Any], split: str, limit: int | None) -> Any:
    """The first English sentences or texts of a split."""
    found = load_source(cell["data"], cell["task"], split, ["en"]).dataset
    return found.select(range(min(limit or len(found), len(found))))


def logits(model: Any, tokenizer: Any) -> torch.Tensor:
    """What a model makes of a few texts."""
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt").to(model.device)
    with torch.no_grad():
        return model.eval()(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits.cpu()


def equal_in_another_process(run: Run, plan: Any, folder: Path) -> bool:
    """Whether the run, loaded by a new process, gives the logits that the trained model gives here, to the bit."""
    command = [sys.executable, __file__, "--logits", str(run.folder), str(folder / "logits.pt")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    here = logits(plan.model.to("cpu"), plan.encoder.tokenizer)
    return torch.equal(here, torch.load(folder / "logits.pt"))


def target_scores(run: Run, cell: dict[str, Any], splits: dict[str, str]) -> dict[str, dict[str, float | None]]:
    """Every score of each language in percent, on the split that `split_of` found for it; None where it is not defined.

    Returns:
        Name of a score, the main one first -> language -> score. For parsing that is LAS and UAS, with all words and
        without PUNCT and SYM, and LAS with subtypes where some labels have them.
    """
    found: dict[str, dict[str, float]] = {}
    adapters = Path(cell["language_adapters"]) if cell["tuning"].startswith("stack:") else None
    for split in sorted(set(splits.values())):
        languages = [language for language, found in splits.items() if found == split]
        own = {language: adapters / language for language in languages if adapters and (adapters / language).is_dir()}
        predictions = predict_run(
            run, cell["data"], split=split, languages=languages, limit=cell.get("limit"), language_adapters=own
        )
        metrics = scores_for(predictions.task)
        for each in predictions.languages:
            found[each.language] = {
                metric.name: 100 * float(metric.score(metric.counts(each.predicted, each.gold).sum(axis=0)))
                for metric in metrics
            }
    names = next(iter(found.values()))
    return {name: {language: _rounded(found[language][name]) for language in splits} for name in names}


def _rounded(score: float) -> float | None:
    return None if math.isnan(score) else round(score, 2)


def split_of(data: str, task: str, languages: Sequence[str]) -> dict[str, str]:
    """For each language `test`, or `dev` where it has no labelled test data; told before anything is trained.

    Raises:
        SystemExit: If a language has neither.
    """
    found = {}
    for language in languages:
        for split in ("test", "dev"):
            try:
                load_source(data, task, split, [language])
            except DataError:
                continue
            found[language] = split
            break
        else:
            raise SystemExit(f"{data} has neither test nor dev data in {language}")
    return found


def small_language_adapter(folder: str, steps: int, model: str) -> None:
    """A language adapter for English after a few steps on the sentences of the samples: something to stack on."""
    sentences = load_source("samples:ner", "ner", "train", ["en"]).dataset["words"]
    text = Path(folder).with_suffix(".txt")
    text.parent.mkdir(parents=True, exist_ok=True)
    text.write_text("\n".join(" ".join(words) for words in sentences) + "\n", "utf-8")
    train_language("en", text, out=folder, steps=steps, model=model)


def main() -> None:
    """Run a cell, or what a cell needs of another process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", nargs="?", help="JSON")
    parser.add_argument("--logits", nargs=2, metavar=("RUN", "FILE"))
    parser.add_argument("--language-adapter", nargs=3, metavar=("FOLDER", "STEPS", "MODEL"))
    args = parser.parse_args()
    if args.logits:
        loaded = load_run(args.logits[0])
        torch.save(logits(loaded.model, loaded.tokenizer), args.logits[1])
    elif args.language_adapter:
        folder, steps, model = args.language_adapter
        small_language_adapter(folder, int(steps), model)
    else:
        print(json.dumps(run_cell(json.loads(args.cell))))


if __name__ == "__main__":
    main()
