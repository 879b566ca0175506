"""Encoders that were adapted to a domain (`dlfa adapt`): what their folders say of them."""

import json
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import RunError, mend
from dlfa_adapters.ground.files import sha256_of

RECORD = "adapted.json"
"""What a folder of `adapt_encoder` says of its encoder."""

_AGAIN = "copy the encoder again or adapt it again"


def is_adapted(name: str | Path) -> bool:
    """Whether this is the folder of an encoder that was adapted here."""
    return (Path(name) / RECORD).is_file()


def read_adapted(folder: str | Path) -> dict[str, Any]:
    """The record of an adapted encoder, of which every file is the one that was written.

    Raises:
        RunError: If it is damaged, or a file is missing or another one.
    """
    path = Path(folder) / RECORD
    try:
        record = dict(json.loads(path.read_text("utf-8")))
        files, _ = dict(record["files"]), record["text"]["languages"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(mend(path, f"{type(error).__name__}: {error}", _AGAIN)) from error
    for name, sha256 in files.items():
        if not (path.parent / name).is_file() or sha256_of(path.parent / name) != sha256:
            raise RunError(mend(path.parent / name, "it is missing or not the file that was written", _AGAIN))
    return record


def adapted_to(name: str) -> str:
    """What an encoder was adapted to, for the line that says where it is from; nothing for others.

    Raises:
        RunError: See `read_adapted`.
    """
    if not is_adapted(name):
        return ""
    record = read_adapted(name)
    text, steps = record["text"], record["training"]["steps"]
    languages = ", ".join(text["languages"])
    return f"; {record['encoder']['name']}, adapted to {', '.join(text['source'])} in {languages}, {steps:,} steps"
