"""The errors of this library: one sentence each, with what was expected, what came, and what to type.

Everything that is a user's mistake derives from `DLFAError`; the command line prints its text and exits with code 2.
Each also derives from the builtin that a Python user would catch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel


class DLFAError(Exception):
    """Base of every error that this library raises on purpose."""


class ConfigError(DLFAError, ValueError):
    """An option has a value that cannot work, e.g. a fuse layer that the encoder does not have."""


class UnsupportedModelError(DLFAError, TypeError):
    """The model is not one that a DLFA head can be put on."""


class DataError(DLFAError, ValueError):
    """Input data cannot be read; the text names file and line."""


class RunError(DLFAError, ValueError):
    """A run folder or saved head is missing, incomplete, or belongs to another encoder."""


class MissingExtraError(DLFAError, ImportError):
    """A package of an optional extra is not installed; the text has the pip command."""


@contextmanager
def as_config_error() -> Iterator[None]:
    """Raise the `ValueError` of a value that cannot work as a `ConfigError`, with the same sentence."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(str(error)) from error


def is_a_librarys(error: BaseException) -> bool:
    """Whether the line that raised an error is in another library, or it is a sentence of this one.

    For a damaged file Transformers, tokenizers and PyTorch raise whatever they stumble over, a bare `Exception`
    included, so that its class does not tell their refusal of a user's file from a mistake in a line of ours. What a
    line of ours raises without meaning to must not be reported as the user's fault.
    """
    if isinstance(error, DLFAError):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    name = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
    return str(name).partition(".")[0] not in ("dlfa_adapters", "dlfa_cli")


def wrong_in(content: Any, schema: "Callable[[], type[BaseModel]]") -> str | None:
    """What is wrong with the content of a JSON file of this library; pydantic is imported when one is read.

    Returns:
        Where and what, for a sentence, the first of all; None if nothing is.
    """
    from pydantic import ValidationError

    try:
        schema().model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        message = first["msg"].removeprefix("Value error, ")
        given = "" if first["type"] == "missing" else f", it is {_short(first['input'])}"
        return f"{where}: {message[:1].lower()}{message[1:]}{given}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


@contextmanager
def told_if_damaged(file: Path, how: str) -> Iterator[None]:
    """Make a sentence of what the reader of a JSON file of this library stumbles over, with `how` to mend it.

    Raises:
        RunError: Naming the file; one that is raised meanwhile passes, and so does an `OSError`.
    """
    try:
        yield
    except RunError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError) as error:
        raise RunError(f"{file} is damaged ({error}); {how}.") from None


def check_format(place: Path | str, what: str, found: object, known: int) -> None:
    """Refuse what (a `run`, say) another version has written in a format that this one does not read.

    Raises:
        RunError: If they differ.
    """
    if found != known:
        raise RunError(
            f"{place} has {what} format {found!r}, this version reads format {known}; pip install -U dlfa-adapters"
        )


def mend(path: Path | str, wrong: str, how: str) -> str:
    """The sentence for a file that is not as this library wrote it."""
    return f"{path} was changed or is damaged ({wrong}); {how}."
