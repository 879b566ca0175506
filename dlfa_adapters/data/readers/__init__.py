"""Readers, one for each format: strict, lossless, and with a count of everything left out.

`read_file` finds the format; each reader can also be called by name. `READERS` is the list, to which `register_reader`
adds.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers.base import Example, Notes, Problem, Read, Sentence
from dlfa_adapters.data.readers.columns import (
    read_columns,
    read_wikiann,
    read_words,
    write_columns,
    write_wikiann,
    write_words,
)
from dlfa_adapters.data.readers.conllu import Tree, read_conllu, trees_of, with_arcs, write_conllu
from dlfa_adapters.data.readers.containers import is_parquet
from dlfa_adapters.data.readers.detect import DETECTORS, TAGGING_FORMATS, Detector, Found, detect_format, find_format
from dlfa_adapters.data.readers.labelled_text import (
    read_labelled,
    read_pairs,
    read_pawsx,
    read_sib200,
    read_text,
    read_xnli,
)
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.mldoc import read_mldoc
from dlfa_adapters.data.readers.oddities import name_missing_blank_lines, name_odd_labels
from dlfa_adapters.data.readers.spans import read_spans, read_tokens
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.task import check_new_name

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
    "read_mldoc",
    "read_pairs",
    "read_pawsx",
    "read_sib200",
    "read_spans",
    "read_text",
    "read_tokens",
    "read_wikiann",
    "read_words",
    "read_xnli",
    "register_reader",
    "trees_of",
    "with_arcs",
    "write_columns",
    "write_conllu",
    "write_wikiann",
    "write_words",
]


def read_file(
    path: str | Path, format: str | None = None, *, task: Task | None = None, strict: bool = True, **options: Any
) -> Read[Any]:
    """Read a file in a given format, or in the one that the task, its content and its name show.

    Args:
        path: The file.
        format: A name of `READERS`, or None to find out.
        task: What it is for, where that is known: it decides where content and name leave a doubt.
        strict: Whether the first bad row raises.
        options: Further arguments of the reader, e.g. `tag_column=3` of `read_columns`; None stands for the default.

    Returns:
        What the reader returns; its `layout` and `why` say what was taken for what.

    Raises:
        ConfigError: There is no such format, or it has no such option.
        DataError: The file cannot be read, or is data of another kind than the task's.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if format is None:
        named = not options.keys().isdisjoint(("word_column", "tag_column"))
        lines = [] if is_parquet(path) else read_lines(path, Notes(path, strict=False))
        chosen = find_format(path, lines, task, tagging=named)
    else:
        chosen = Found(format, "as told")
    if chosen.format not in READERS:
        raise ConfigError(f"expected a format among {', '.join(READERS)}, but got {format!r}")
    reader = READERS[chosen.format]
    takes = inspect.signature(reader).parameters
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in takes.values()):
        for name in options.keys() - takes.keys():
            raise ConfigError(f"{path}: the format {chosen.format} has no option {name}; name another with --format")
        if task is not None and "labels" in takes:
            options = {"labels": task.labels, **options}
    read = reader(path, strict=strict, **options)
    read.why = chosen.why
    name_odd_labels(read, () if task is None else task.labels)
    if chosen.format in _IN_ROWS:
        name_missing_blank_lines(read)
    return read


_IN_ROWS = ("columns", "wikiann", "words")
"""Formats in which blank lines stand between sentences, and nothing else tells them."""


READERS: dict[str, Callable[..., Read[Any]]] = {
    "conllu": read_conllu,
    "columns": read_columns,
    "wikiann": read_wikiann,
    "words": read_words,
    "tokens": read_tokens,
    "spans": read_spans,
    "xnli": read_xnli,
    "pawsx": read_pawsx,
    "sib200": read_sib200,
    "mldoc": read_mldoc,
    "labelled": read_labelled,
    "text": read_text,
    "pairs": read_pairs,
}
_OURS = frozenset(READERS)


def register_reader(
    name: str,
    read: Callable[..., Read[Any]],
    *,
    tagging: bool,
    detect: Detector | None = None,
    overwrite_ok: bool = False,
) -> None:
    """Make a format known by name: `read_file(path, "name")`, `load_data(path, format="name")`.

    Args:
        name: Lower-case letters, digits, `_` and `-`, a letter first.
        read: Called as `read(path, strict=True, **options)`; returns a `Read` of `Sentence` or `Example`.
        tagging: Whether its items are sentences of words rather than texts.
        detect: Says of a path and the lines of the file whether it is of this format. It is called before the
            library's own formats are looked for; without it the format is read only where it is named.
        overwrite_ok: Whether a reader that was registered under this name before may be replaced.

    Raises:
        ConfigError: If the name is bad, taken, or one of the library's own, or the reader does not take `strict`.
    """
    check_new_name("format", name, READERS, _OURS, overwrite_ok)
    if not callable(read) or not _takes_strict(read):
        raise ConfigError(
            f"The reader of the format {name!r} must be a function read(path, *, strict=True) that returns a Read, got "
            f"{read!r}."
        )
    READERS[name] = read
    TAGGING_FORMATS.discard(name)
    DETECTORS.pop(name, None)
    if tagging:
        TAGGING_FORMATS.add(name)
    if detect is not None:
        DETECTORS[name] = detect


def _takes_strict(read: Callable[..., Any]) -> bool:
    parameters = inspect.signature(read).parameters
    return "strict" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
