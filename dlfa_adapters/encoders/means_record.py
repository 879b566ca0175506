"""What a file of language means says of itself: languages, counts, fingerprints; read without PyTorch.

It is one of safetensors, with a mean for each language under the name of the language, and a header in JSON.
"""

import json
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError, DataError, check_format

FORMAT = 1
KIND = "language means"
UNITS = ("pieces", "words")
"""What is counted: every piece of the tokenizer, or every word, whose state is the mean of those of its pieces."""

_MOST = 100_000_000  # bytes of a header; that of a file of this library has a few thousand


@dataclass(frozen=True)
class MeanOf:
    """What a mean was made of.

    Attributes:
        count: How many pieces or words.
        texts: In how many texts or sentences.
        source: Where they were read: files, or a source of data and its split.
        dropped: What was left out, by reason.
        fingerprints: Of what the mean of each layer 0..L depends on, see `parts.layer_fingerprints`.
    """

    count: int
    texts: int
    source: str
    dropped: dict[str, int]
    fingerprints: list[str]


@dataclass(frozen=True)
class MeansRecord:
    """The description of a file of means.

    Attributes:
        encoder: What it is called, and its `num_hidden_layers` and `hidden_size`.
        unit: One of `UNITS`.
        max_length: Most pieces of a row that the encoder read.
        languages: Each with what its mean was made of.
    """

    encoder: dict[str, Any]
    unit: str
    max_length: int
    languages: dict[str, MeanOf]

    def as_dict(self) -> dict[str, Any]:
        """For the header."""
        return {"kind": KIND, "format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, told: dict[str, Any], path: object) -> "MeansRecord":
        """What `as_dict` wrote.

        Raises:
            DataError: If it is something else.
            RunError: If it is of a later version.
        """
        if not isinstance(told, dict) or told.get("kind") != KIND:
            raise not_means(path)
        check_format(str(path), KIND, told.get("format"), FORMAT)
        try:
            languages = {language: MeanOf(**its) for language, its in told["languages"].items()}
            return cls(dict(told["encoder"]), str(told["unit"]), int(told["max_length"]), languages)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_means(path) from error

    def check_layer(self, layer: int) -> None:
        """Refuse a layer that a shift cannot be at.

        Raises:
            ConfigError: If it is none of 1..L.
        """
        depth = self.encoder["num_hidden_layers"]
        if not 1 <= layer <= depth:
            raise ConfigError(
                f"A shift is at a layer from 1 to {depth} of this encoder, got {layer}; type e.g. {(depth + 1) // 2}."
            )

    def check_languages(self, languages: Iterable[str], path: object) -> None:
        """Refuse languages, spelled as in the data, that have no mean in the file at `path`.

        Raises:
            ConfigError: Naming them.
        """
        if missing := [language for language in dict.fromkeys(languages) if language not in self.languages]:
            there = ", ".join(self.languages)
            raise ConfigError(
                f"{path} has means of {there}, but none of {', '.join(missing)}; add them with: dlfa analyze means "
                f"--add --out {path} --text {missing[0]}=FILE"
            )


def read_record(path: str | Path) -> MeansRecord:
    """Read the description of a file of means, and nothing else of it.

    Raises:
        DataError: If there is no such file, or it is none of means.
        RunError: If it is of a later version.
    """
    try:
        with Path(path).open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size)) if size < _MOST else {}
        about = json.loads(header["__metadata__"]["about"])
    except FileNotFoundError:
        raise DataError(f"{path}: expected a file of language means, but there is none of this name") from None
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise not_means(path) from error
    return MeansRecord.from_dict(about, path)


def not_means(path: object) -> DataError:
    """The sentence for a file that is something else."""
    return DataError(f"{path}: expected a file of language means, as dlfa analyze means writes one, but this is none")
