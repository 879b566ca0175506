"""Where the sample corpora are. They were written for this project; docs: `samples.md`."""

from pathlib import Path

from dlfa_adapters.data.reading import SAMPLES, sample_files
from dlfa_adapters.ground.errors import ConfigError

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
    found = _files(sample, split)
    if language not in found:
        raise ConfigError(
            f"There is no {split} sample of {sample} in {language!r}; "
            f"there is {', '.join(sample_languages(sample, split))}."
        )
    return found[language]


def sample_languages(sample: str, split: str = "test") -> list[str]:
    """Languages of a sample corpus, English first, then by code."""
    return sorted(_files(sample, split), key=lambda language: (language != "en", language))


def _files(sample: str, split: str) -> dict[str, Path]:
    if sample not in SAMPLES:
        raise ConfigError(f"There are samples of {', '.join(SAMPLES)}, not of {sample!r}.")
    return sample_files(sample, split)
