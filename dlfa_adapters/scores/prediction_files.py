"""The files of predictions in a saved evaluation: one a language, with its checksum and what its ids are."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import read_lines
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import write_lines
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.predict.predictions import Predicted

_PLAIN_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,40}")


def write_predicted(folder: Path, languages: Sequence[Predicted]) -> dict[str, dict[str, Any]]:
    """Write the predictions of all languages.

    Args:
        folder: The evaluation's folder; the files go to `predictions/` in it, which is made.
        languages: What is written.

    Returns:
        By language, what `read_predicted` needs: `file`, `sha256`, `own_ids`, and the same of the file of ids as `ids`.

    Raises:
        DataError: If a word holds a TAB or a line end, so that it cannot stand in columns.
    """
    (folder / "predictions").mkdir()
    names = file_names([language.language for language in languages])
    files: dict[str, dict[str, Any]] = {}
    for language, name in zip(languages, names, strict=True):
        kind = kind_named(language.kind)
        path = folder / "predictions" / f"{name}{kind.suffix}"
        kind.write_predictions(path, language)
        told = {**_named(folder, path), "own_ids": language.own_ids}
        if kind.ids_beside and language.own_ids:
            if any("\n" in name or "\r" in name for name in language.ids):
                told["own_ids"] = False  # cannot stand on a line each
            else:
                write_lines(path.with_suffix(".ids"), language.ids)
                told["ids"] = _named(folder, path.with_suffix(".ids"))
        files[language.language] = told
    return files


def _unchanged(folder: Path, told: dict[str, Any]) -> Path:
    path = folder / told["file"]
    if sha256_of(path) != told["sha256"]:
        raise RunError(f"{path} is not the file that was written (cut short or changed); evaluate again.")
    return Path(path)


def read_predicted(folder: Path, language: str, kind: str, told: dict[str, Any]) -> Predicted:
    """Read the predictions of a language.

    Args:
        folder: The evaluation's folder.
        language: The language.
        kind: Name of the kind of task.
        told: What `write_predicted` gave for it.

    Raises:
        RunError: If a file is not what was written.
    """
    path = _unchanged(folder, told)
    ids = read_lines(_unchanged(folder, told["ids"]), Notes(path)) if "ids" in told else None
    columns = kind_named(kind).read_predictions(path, ids)
    return Predicted(language=language, kind=kind, own_ids=told.get("own_ids"), **columns)


def file_names(languages: Sequence[str]) -> list[str]:
    """A file name without suffix for each language: its code, or a number where that is no plain name or is taken."""
    names: list[str] = []
    for number, language in enumerate(languages, 1):
        taken = {name.lower() for name in names}
        plain = _PLAIN_NAME.fullmatch(language) is not None and language.lower() not in taken
        names.append(language if plain else f"language.{number}")
    return names


def _named(folder: Path, path: Path) -> dict[str, Any]:
    return {"file": path.relative_to(folder).as_posix(), "sha256": sha256_of(path)}
