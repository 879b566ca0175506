"""The recipes as modules, and a little data of every task in the folders that their users have."""

import importlib.util
import json
from pathlib import Path

import pytest

from dlfa_cli.recipes import copy

WORDS = [
    ("Anna met Bob in Rome .", "B-PER O B-PER O B-LOC O", "PROPN VERB PROPN ADP PROPN PUNCT"),
    ("the Bank of York met Anna", "O B-ORG I-ORG I-ORG O B-PER", "DET NOUN ADP PROPN VERB PROPN"),
    ("Bob is far", "B-PER O O", "PROPN AUX ADV"),
    ("in New York", "O B-LOC I-LOC", "ADP PROPN PROPN"),
]
TEXTS = [words for words, _, _ in WORDS]
LABELS = {
    "xnli": ["entailment", "neutral", "contradiction", "neutral"],
    "pawsx": ["1", "0", "1", "0"],
    "mldoc": ["CCAT", "ECAT", "GCAT", "MCAT"],
    "topic": ["sports", "health", "travel", "politics"],
    "sentiment": ["0", "1", "2", "1"],
    "marc": ["1", "5", "3", "2"],
}
SPLITS = {"train": 2, "dev": 1, "test": 1}
"""How often the four items stand in a split."""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def tagged(column):
    return "".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(item[0].split(), item[column].split(), strict=True)) + "\n"
        for item in WORDS
    )


def pairs(task):
    return "".join(f"{a}\t{b}\t{label}\n" for a, b, label in zip(TEXTS, reversed(TEXTS), LABELS[task], strict=True))


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Folders `xtreme` (panx, udpos, xnli, pawsx), `mldoc`, `sib200`, `xlmt`, `marc`; English, German, Swahili."""
    root = tmp_path_factory.mktemp("data")
    texts = {"panx": tagged(1), "udpos": tagged(2), "xnli": pairs("xnli"), "pawsx": pairs("pawsx")}
    topics = "".join(f"{i}\t{LABELS['topic'][i]}\t{text}\n" for i, text in enumerate(TEXTS))
    for split, times in SPLITS.items():
        for language in ("en", "de", "sw") if split == "test" else ("en",):
            for folder, text in texts.items():
                write(root / "xtreme" / folder / f"{split}-{language}.tsv", text * times)
            code = {"en": "eng_Latn", "de": "deu_Latn", "sw": "swh_Latn"}[language]
            write(root / "sib200" / code / f"{split}.tsv", "index_id\tcategory\ttext\n" + topics * times)
            name, size = {"en": "english", "de": "german", "sw": "swahili"}[language], ".1000" * (split == "train")
            news = "".join(f"{a}\t{b} They met.\n" for a, b in zip(LABELS["mldoc"], TEXTS, strict=True))
            if language != "sw":
                write(root / "mldoc" / name / f"{name}.{split}{size}", news * times)
            reviews = [
                json.dumps(
                    {
                        "review_id": f"{language}_{i}",
                        "stars": stars,
                        "review_body": text,
                        "review_title": "So",
                        "language": language,
                    }
                )
                for i, (stars, text) in enumerate(zip(LABELS["marc"] * times, TEXTS * times, strict=True))
            ]
            write(root / "marc" / split / f"dataset_{language}_{split}.json", "\n".join(reviews) + "\n")
            write(root / "xlmt" / name / f"{split}_text.txt", "\n".join(TEXTS * times) + "\n")
            write(root / "xlmt" / name / f"{split}_labels.txt", "\n".join(LABELS["sentiment"] * times) + "\n")
    return root


@pytest.fixture(scope="session")
def recipe(tmp_path_factory):
    """recipe("ner"): a recipe as a module of its own, as `dlfa recipes cp` copies it."""

    def load(name, path=None):
        copied = path or copy(name, tmp_path_factory.mktemp("copies"))
        spec = importlib.util.spec_from_file_location(f"recipe_{Path(name).name}", copied)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
