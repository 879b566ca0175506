"""A sweep on eight sentences, a tiny encoder without dropout, and helpers for the tests of fine-tuned sweeps."""

import json
import shutil
from pathlib import Path

from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.sweeps.finetuned.ranks import without_launcher
from dlfa_adapters.sweeps.prepare import Request, prepare_sweep
from dlfa_adapters.tuning import get_tuning

NER = [
    (["Anna", "met", "Bob", "in", "Rome", "."], ["B-PER", "O", "B-PER", "O", "B-LOC", "O"]),
    (["Rome"], ["B-LOC"]),
    (["New", "York", "is", "far"], ["B-LOC", "I-LOC", "O", "O"]),
    (["the", "Bank", "of", "Rome", "met", "Anna"], ["O", "B-ORG", "I-ORG", "I-ORG", "O", "B-PER"]),
    (["Bob", "and", "Anna", "met"], ["B-PER", "O", "B-PER", "O"]),
    (["in", "York"], ["O", "B-LOC"]),
    (["Acme", "met", "Bob"], ["B-ORG", "O", "B-PER"]),
    (["a", "b", "c", "d", "e", "f", "g", "h"], ["O"] * 8),
]
# pieces that the training data do not have, and a sentence of two windows
UNSEEN = [
    (["Zeus", "Quix", "wove"], ["B-PER", "I-PER", "O"]),
    (["Anna", *["zigzag"] * 8, "Rome"], ["B-PER", *["O"] * 9]),
]
DEV = NER[:4] + UNSEEN
TARGETS = [
    {"id": f"{language}{i}", "language": language, "words": words, "tags": tags}
    for language, items in (("de", NER[3:]), ("sw", UNSEEN))
    for i, (words, tags) in enumerate(items)
]
OPTIONS = {
    "batch_size": 4, "epochs": 3, "learning_rate": 1e-2, "max_grad_norm": 0.5, "weight_decay": 0.3, "max_length": 32,
    "context": 8,
}  # fmt: skip


def still_folder(tiny_folder: Path, folder: Path) -> str:
    """The tiny encoder without dropout."""
    shutil.copytree(tiny_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def prepared(model: str, out: Path, tuning: str = "full", seeds: int = 1, **options: object) -> object:
    """A sweep of `last`, D_2 and D_3."""
    method = get_tuning(tuning)
    request = Request(
        task="ner", train_data=NER, dev_data=DEV, target_data=TARGETS, language="en", model=model, layers=(2,),
        seeds=seeds,
    )  # fmt: skip
    with without_launcher():
        settings = resolve(make_settings(**{**OPTIONS, **options}), method)
    return prepare_sweep(request, method, settings, out)


SPECS = [
    HeadSpec.of(name="last", fusion="last"),
    HeadSpec.of(name="D_2", fuse_layer=(2,)),
    HeadSpec.of(name="nested", fuse_layer=(2, 1), gate="attention", norm="layer"),
    HeadSpec.of(name="layer 1", fusion="layer", fuse_layer=(1,)),
    HeadSpec.of(name="mix", fusion="scalar_mix"),
]
