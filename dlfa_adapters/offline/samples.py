"""Where the sample corpora are. They were written for this project; docs: `samples.md`."""

from importlib.resources import files
from pathlib import Path

from dlfa_adapters.data.sources import SAMPLES
from dlfa_adapters.errors import ConfigError

SAMPLE_TASKS = {"ner": "ner", "pos": "pos", "xnli": "nli", "pawsx": "pawsx"}
"""The sample that a task can be tried on."""


def sample_file(sample: str, split: str, language: str) -> Path:
    """The file of a sample corpus.

    Args:
        sample: `ner`, `pos` (two columns, word and tag), `nli` (premise, hypothesis, label) or `pawsx` (two sentences
            and 0 or 1).
        split: `train`, `dev` (English only) or `test`.
        language: ISO 639-1 code.

    Raises:
        ConfigError: If there is no such sample; the text lists those there are.
    """
    path = _folder(sample) / f"{split}-{language}.tsv"
    if not path.is_file():
        raise ConfigError(
            f"There is no {split} sample of {sample} in {language!r}; "
            f"there is {', '.join(sample_languages(sample, split))}."
        )
    return path


def sample_languages(sample: str, split: str = "test") -> list[str]:
    """Languages of a sample corpus, English first, then by code."""
    found = {path.stem.removeprefix(f"{split}-") for path in _folder(sample).glob(f"{split}-*.tsv")}
    return sorted(found, key=lambda language: (language != "en", language))


def _folder(sample: str) -> Path:
    if sample not in SAMPLES:
        raise ConfigError(f"There are samples of {', '.join(SAMPLES)}, not of {sample!r}.")
    return Path(str(files("dlfa_adapters.offline"))) / "samples" / sample
