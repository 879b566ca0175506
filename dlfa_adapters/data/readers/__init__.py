"""Readers, one small file a format: strict, lossless, and with a count of everything left out.

`read_file` finds the format; each reader can also be called by name. `READERS` is the list, to which `register_reader`
adds.
"""

from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.base import Example, Notes, Problem, Read, Sentence
from dlfa_adapters.data.readers.columns import read_columns, write_columns
from dlfa_adapters.data.readers.conllu import Tree, read_conllu, write_conllu
from dlfa_adapters.data.readers.detect import detect_format
from dlfa_adapters.data.readers.labelled_text import read_labelled
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.odd_labels import name_odd_labels
from dlfa_adapters.data.readers.pawsx import read_pawsx
from dlfa_adapters.data.readers.plain import read_pairs, read_text
from dlfa_adapters.data.readers.registry import READERS, TAGGING_FORMATS, register_reader
from dlfa_adapters.data.readers.sib200 import read_sib200
from dlfa_adapters.data.readers.wikiann import read_wikiann, write_wikiann
from dlfa_adapters.data.readers.words import read_words, write_words
from dlfa_adapters.data.readers.xnli import read_xnli
from dlfa_adapters.errors import ConfigError

__all__ = [
    "READERS",
    "TAGGING_FORMATS",
    "Example",
    "Notes",
    "Problem",
    "Read",
    "Sentence",
    "Tree",
    "detect_format",
    "read_columns",
    "read_conllu",
    "read_file",
    "read_labelled",
    "read_lines",
    "read_pairs",
    "read_pawsx",
    "read_sib200",
    "read_text",
    "read_wikiann",
    "read_words",
    "read_xnli",
    "register_reader",
    "write_columns",
    "write_conllu",
    "write_wikiann",
    "write_words",
]


def read_file(path: str | Path, format: str | None = None, *, strict: bool = True, **options: Any) -> Read[Any]:
    """Read a file in a given format, or in the one that its content and name show.

    Args:
        path: The file.
        format: A name of `READERS`, or None to find out.
        strict: Whether the first bad row raises.
        options: Further arguments of the reader, e.g. `tag_column=3` of `read_columns`.

    Returns:
        What the reader returns.

    Raises:
        ConfigError: There is no such format.
        DataError: The file cannot be read.
    """
    if format is None:
        format = detect_format(path, read_lines(path, Notes(path, strict=False)))
    if format not in READERS:
        raise ConfigError(f"expected a format among {', '.join(READERS)}, but got {format!r}")
    read = READERS[format](path, strict=strict, **options)
    name_odd_labels(read)
    return read
