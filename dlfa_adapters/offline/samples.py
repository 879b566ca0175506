"""Where the sample corpora are. They were written for this project; docs: `samples.md`."""

from importlib.resources import files
from pathlib import Path

from dlfa_adapters.errors import ConfigError

SAMPLE_TASKS = {"ner": "ner", "pos": "pos", "xnli": "nli"}
"""Task name to folder."""


def sample_file(task: str, split: str, language: str) -> Path:
    """The file of a sample corpus.

    Args:
        task: `ner`, `pos` (two columns, word and tag) or `xnli` (premise, hypothesis, label).
        split: `train`, `dev` (English only) or `test`.
        language: ISO 639-1 code.

    Raises:
        ConfigError: If there is no such sample; the text lists those there are.
    """
    path = _folder(task) / f"{split}-{language}.tsv"
    if not path.is_file():
        raise ConfigError(
            f"There is no {split} sample of {task} in {language!r}; there is {', '.join(sample_languages(task, split))}."
        )
    return path


def sample_languages(task: str, split: str = "test") -> list[str]:
    """Languages of a sample corpus, English first, then by code."""
    found = {path.stem.removeprefix(f"{split}-") for path in _folder(task).glob(f"{split}-*.tsv")}
    return sorted(found, key=lambda language: (language != "en", language))


def _folder(task: str) -> Path:
    if task not in SAMPLE_TASKS:
        raise ConfigError(f"There are samples of {', '.join(SAMPLE_TASKS)}, not of {task!r}.")
    return Path(str(files("dlfa_adapters.offline"))) / "samples" / SAMPLE_TASKS[task]
