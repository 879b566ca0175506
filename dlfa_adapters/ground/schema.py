"""What a JSON file of this library must hold, checked by pydantic, whose import waits until a file is read."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel


def wrong_in(content: Any, schema: "Callable[[], type[BaseModel]]") -> str | None:
    """What is wrong with the content of a file.

    Args:
        content: What JSON made of it.
        schema: Gives the model that it must be of.

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
        told = "" if first["type"] == "missing" else f", it is {_short(first['input'])}"
        return f"{where}: {message[:1].lower()}{message[1:]}{told}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def mend(path: Path | str, wrong: str, how: str) -> str:
    """The sentence for a file that is not as this library wrote it."""
    return f"{path} was changed or is damaged ({wrong}); {how}."
