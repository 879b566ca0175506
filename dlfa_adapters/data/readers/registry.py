"""Readers by the name of their format: those of the library, and those that a user registers."""

import inspect
from collections.abc import Callable
from typing import Any

from dlfa_adapters.data.readers.base import Read
from dlfa_adapters.data.readers.columns import read_columns
from dlfa_adapters.data.readers.conllu import read_conllu
from dlfa_adapters.data.readers.detect import DETECTORS, TAGGING_FORMATS, Detector
from dlfa_adapters.data.readers.labelled_text import read_labelled, read_pawsx, read_sib200, read_xnli
from dlfa_adapters.data.readers.plain import read_pairs, read_text, read_words
from dlfa_adapters.data.readers.spans import read_spans, read_tokens
from dlfa_adapters.data.readers.wikiann import read_wikiann
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks.task import check_new_name

__all__ = ["DETECTORS", "READERS", "TAGGING_FORMATS", "register_reader"]

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
        detect: Says of a path and the lines of the file whether it is of this format. It is asked before the
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
