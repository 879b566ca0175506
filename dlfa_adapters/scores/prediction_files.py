"""The files of predictions in a saved evaluation: one a language, with its checksum and what its ids are."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import Sentence, read_columns, read_lines, write_columns
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import write_lines
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.files import sha256_of
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
        write, suffix = (_write_tags, "tsv") if language.kind == "tagging" else (_write_labels, "jsonl")
        path = folder / "predictions" / f"{name}.{suffix}"
        write(path, language)
        told = {**_named(folder, path), "own_ids": language.own_ids}
        if language.kind == "tagging" and language.own_ids:
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
        kind: `tagging` or `classification`.
        told: What `write_predicted` gave for it.

    Raises:
        RunError: If a file is not what was written.
    """
    path = _unchanged(folder, told)
    if kind == "tagging":
        ids = read_lines(_unchanged(folder, told["ids"]), Notes(path)) if "ids" in told else None
        sentences = read_columns(path, word_column=0, tag_column=2, scheme="IOB2").items
        columns = [list(zip(*(item.columns or []), strict=True)) for item in sentences]
        return Predicted(
            language=language,
            kind="tagging",
            ids=[item.id for item in sentences] if ids is None else ids,
            own_ids=told.get("own_ids"),
            inputs=[list(words) for words, _, _ in columns],
            gold=[list(gold) for _, gold, _ in columns],
            placeholder=[False] * len(sentences),
            predicted=[list(predicted) for _, _, predicted in columns],
        )
    rows = [json.loads(line) for line in read_lines(path, Notes(path))]
    return Predicted(
        language=language,
        kind="classification",
        ids=[row["id"] for row in rows],
        own_ids=told.get("own_ids"),
        inputs=[(row["text"], row["text_pair"]) for row in rows],
        gold=[row["gold"] for row in rows],
        placeholder=[row["placeholder"] for row in rows],
        predicted=[row["label"] for row in rows],
    )


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


def _write_tags(path: Path, language: Predicted) -> None:
    rows = zip(language.ids, language.inputs, language.gold, language.predicted, strict=True)
    sentences = [
        Sentence(words, predicted, name, columns=[list(row) for row in zip(words, gold, predicted, strict=True)])
        for name, words, gold, predicted in rows
    ]
    write_columns(path, sentences)


def _write_labels(path: Path, language: Predicted) -> None:
    rows = zip(language.ids, language.inputs, language.predicted, language.gold, language.placeholder, strict=True)
    names = ("id", "language", "text", "text_pair", "label", "gold", "placeholder")
    write_lines(
        path,
        [
            json.dumps(dict(zip(names, (id_, language.language, *texts, *rest), strict=True)), ensure_ascii=False)
            for id_, texts, *rest in rows
        ],
    )
