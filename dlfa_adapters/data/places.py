"""Options of data and encoders: where they are, looked at before anything is loaded, and how files are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from dlfa_adapters.data.languages import as_spelled
from dlfa_adapters.data.layout import find_files
from dlfa_adapters.data.readers import READERS
from dlfa_adapters.data.readers.roles import Column
from dlfa_adapters.ground.errors import ConfigError, DataError

SAMPLES = {"ner": "columns", "pos": "columns", "nli": "xnli", "pawsx": "pawsx"}
"""The sample corpora, and the format of each. They were written for this project; docs: `samples.md`."""

SAMPLE_TASKS = {"ner": "ner", "pos": "pos", "xnli": "nli", "pawsx": "pawsx"}
"""The sample that a task can be tried on."""


def check_source(source: str | Path | Iterable[Any], split: str = "test", format: str | None = None) -> None:
    """Refuse a place where no data can be: see `data.sources.load_source` for what can be given.

    Raises:
        ConfigError: There is no such format.
        DataError: There is no such split, file, sample, or corpus on the hub.
    """
    if split not in ("train", "dev", "test"):
        raise DataError(f"expected the split train, dev or test, but got {split!r}")
    if format is not None and format not in READERS:
        raise ConfigError(f"expected a format among {', '.join(READERS)}, but got {format!r}")
    if not isinstance(source, str | Path):
        return
    kind, _, name = str(source).partition(":")
    if kind == "hub":
        from dlfa_adapters.data.hub_sets import HUB

        if name not in HUB:
            raise DataError(f"expected a hub data set among {', '.join(HUB)}, but got {name!r}")
    if kind == "samples" and name not in SAMPLES:
        raise DataError(f"expected samples:{', samples:'.join(SAMPLES)}, but got {str(source)!r}")
    if not str(source):
        raise DataError("expected a file, a folder, samples:NAME or hub:NAME, but the source is empty")
    if kind not in ("samples", "hub"):
        check_there(source)


def check_languages(source: str | Path, task: str, split: str, languages: Sequence[str] | None) -> None:
    """Refuse languages that a source has not, as far as names of files tell.

    Raises:
        DataError: There is no data of the split, or not in one of them; the text lists those there are.
    """
    if languages is None or str(source).startswith("hub:"):
        return
    if str(source).startswith("samples:"):
        check_samples(str(source).removeprefix("samples:"), split, languages)
    elif Path(source).is_dir():
        find_files(Path(source), task, split, languages)


def check_samples(name: str, split: str, languages: Sequence[str]) -> None:
    """Refuse languages that a sample corpus has not.

    Raises:
        DataError: If so.
    """
    there = sample_files(name, split)
    if missing := [language for language in languages if language not in there]:
        raise DataError(
            f"samples:{name} has {split} data for {', '.join(there)}, but not for {', '.join(missing)}"
            f"{as_spelled(missing, there)}"
        )


def each_place(source: Any) -> list[Any]:
    """The places of a source: itself, or those that it has by language."""
    return list(source.values()) if isinstance(source, Mapping) else [source]


def sample_files(name: str, split: str) -> dict[str, Path]:
    """The files of a split of a sample corpus, by language."""
    folder = Path(str(files("dlfa_adapters"))) / "data" / "samples" / name
    return {path.stem.removeprefix(f"{split}-"): path for path in sorted(folder.glob(f"{split}-*.tsv"))}


def check_there(path: str | Path) -> None:
    """Refuse a file or folder that is not there.

    Raises:
        DataError: If so.
    """
    if not Path(path).exists():
        raise DataError(f"{path}: expected a file or a folder, but there is none of this name")


_NO_ENCODERS = (
    ("run.json", "a run", "what it was trained on, or the folder `encoder` in it if there is one"),
    ("language.json", "a language adapter", "the encoder that it was trained on"),
)
"""Folders that are taken for encoders, by a file in them, and what to name instead."""


def check_encoder_name(name: str) -> None:
    """Refuse an encoder that is named by a path where nothing is, or a run or a language adapter.

    A name on the hub is only known when it answers.

    Raises:
        ConfigError: If so.
    """
    for record, what, instead in _NO_ENCODERS:
        if (Path(name) / record).is_file():
            raise ConfigError(f"{name!r} is {what} and no encoder; name {instead}.")
    is_path = name.startswith(("/", ".", "~")) or name.count("/") > 1 or "\\" in name or not name
    if is_path and not (name and Path(name).exists()):
        raise ConfigError(
            f"The encoder {name!r} cannot be loaded (there is no such folder); give a folder, a name on a hub that can "
            "be reached, or 'offline' for the one from the package index."
        )


def is_file(source: object) -> bool:
    """Whether a source of data is a file or folder: not of the hub or the samples, no Python items."""
    return isinstance(source, str | Path) and not str(source).startswith(("hub:", "samples:"))


@dataclass(frozen=True)
class Reading:
    """Options of reading; what is None is detected.

    Attributes:
        format: A name of `readers.READERS`.
        word_column: Column of the words, from 0, or its name in the header row.
        tag_column: Column of the tags, from 0 or negative from the end, or its name in the header row.
    """

    format: str | None = None
    word_column: Column | None = None
    tag_column: Column | None = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "Reading":
        """The options of reading among others, which loses them."""
        return cls(**{each.name: options.pop(each.name) for each in fields(cls) if each.name in options})

    def as_dict(self) -> dict[str, Any]:
        """By name, None where they are detected."""
        return asdict(self)

    def of(self, source: object) -> dict[str, Any]:
        """What `load_source` takes for a source: nothing for what is read from no file."""
        return self.as_dict() if is_file(source) else {}

    def check(self, sources: Iterable[object]) -> None:
        """Refuse options that nothing comes of.

        Raises:
            ConfigError: If some are given and no source is a file or folder.
        """
        given = [name for name, value in asdict(self).items() if value is not None]
        if given and not any(map(is_file, sources)):
            raise ConfigError(f"{given[0]} says how files are read, but there is no file among the data; leave it out.")


AS_FOUND = Reading()
"""Everything is detected."""


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
    files = _files(sample, split)
    if language not in files:
        raise ConfigError(
            f"There is no {split} sample of {sample} in {language!r}; "
            f"there is {', '.join(sample_languages(sample, split))}."
        )
    return files[language]


def sample_languages(sample: str, split: str = "test") -> list[str]:
    """Languages of a sample corpus, English first, then by code."""
    return sorted(_files(sample, split), key=lambda language: (language != "en", language))


def _files(sample: str, split: str) -> dict[str, Path]:
    if sample not in SAMPLES:
        raise ConfigError(f"There are samples of {', '.join(SAMPLES)}, not of {sample!r}.")
    return sample_files(sample, split)
