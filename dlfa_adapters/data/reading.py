"""How files are to be read, where it is not left to them: the same options for all that reads."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.roles import Column
from dlfa_adapters.ground.errors import ConfigError


def is_file(source: object) -> bool:
    """Whether a source of data is a file or folder: not of the hub or the samples, no Python items."""
    return isinstance(source, str | Path) and not str(source).startswith(("hub:", "samples:"))


@dataclass(frozen=True)
class Reading:
    """Options of reading; what is None is found out.

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
        """By name, None where they are found out."""
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
"""Everything is found out."""
