"""The data of `knowledge.py`: a part of each set, as many items in every language."""

from pathlib import Path

LANGUAGES = ("en", "de", "es", "fr")
AUX = {"pos": (), "ner": ("pos", "pawsx"), "pawsx": ("pos", "ner"), "sentiment": ("ner", "pawsx")}
"""What is learnt beside each task, as in the paper."""

SIZES = {
    "pos": {"train": 1000, "dev": 200, "test": 1000},
    "ner": {"train": 4000, "dev": 500, "test": 1000},
    "pawsx": {"train": 1600, "dev": 400, "test": 2000},
    "sentiment": {"train": 1839, "dev": 324, "test": 870},
}
"""Items of each language at most. Of Universal Dependencies in German, Spanish and French there are no training files,
of PAWS-X in no language, so that there training and dev data are parts of the dev file; German is tested on a third
part of it."""

AUX_SIZES = {"pos": 2000, "ner": 2000, "pawsx": 1600}
NAMES = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}


def items_of(data: Path, task: str, language: str, split: str) -> list[str]:
    """The items of one language and split, as text."""
    size = SIZES[task]
    if task == "sentiment":
        place = data / "xlmt_sentiment" / NAMES[language] / ("val" if split == "dev" else split)
        texts, labels = (
            place.with_name(f"{place.name}_{part}.txt").read_text("utf-8").rstrip("\n").split("\n")
            for part in ("text", "labels")
        )
        named = ("negative", "neutral", "positive")
        both = [f"{text.strip()}\t{named[int(label)]}" for text, label in zip(texts, labels, strict=True)]
        return both[: size[split]]
    between = "\n" if task == "pawsx" else "\n\n"

    def read(name: str) -> list[str]:
        return [item for item in (data / name).read_text("utf-8").split(between) if item.strip()]

    if task == "ner":
        return read(f"panx/{language}/{split}.tsv")[: size[split]]
    folder = "udpos" if task == "pos" else "pawsx"
    if task == "pos" and language == "en":
        return read(f"udpos/{split}-en.tsv")[: size[split]]
    there = data / folder / f"test-{language}.tsv"
    if split == "test" and there.exists():
        return read(f"{folder}/test-{language}.tsv")[: size["test"]]
    parts = {"train": (0, size["train"]), "dev": (size["train"], size["dev"])}
    start, number = parts.get(split, (size["train"] + size["dev"], size["test"]))
    return read(f"{folder}/dev-{language}.tsv")[start : start + number]


def write_data(data: Path, work: Path) -> None:
    """A folder for each task, and one of English auxiliary data for each."""
    if (work / "aux").exists():
        return
    for task in AUX:
        between = "\n\n" if task in ("pos", "ner") else "\n"
        (work / "data" / task).mkdir(parents=True, exist_ok=True)
        for language in LANGUAGES:
            for split in ("train", "dev", "test"):
                text = between.join(items_of(data, task, language, split)) + "\n"
                (work / "data" / task / f"{split}-{language}.tsv").write_text(text, "utf-8")
    (work / "aux").mkdir()
    for task, number in AUX_SIZES.items():
        name = {"pos": "udpos/train-en.tsv", "ner": "panx/en/train.tsv", "pawsx": "pawsx/dev-en.tsv"}[task]
        between = "\n" if task == "pawsx" else "\n\n"
        items = (data / name).read_text("utf-8").split(between)[:number]
        (work / "aux" / f"{task}-en.tsv").write_text(between.join(items) + "\n", "utf-8")
