"""A saved evaluation: the report, and every prediction in a form that the library's readers, and others, can read.

    evaluation.json         the report, with the name and sha256 of every other file
    evaluation.md           the same for people
    predictions/de.tsv      tagging: word, gold tag, predicted tag; the columns that conlleval takes
    predictions/de.ids      tagging, where the sentences have ids: one a line
    predictions/de.jsonl    classification: id, text, text_pair, label (the predicted one), gold

The folder is written as a draft beside its place and then renamed, so that there is never a half of one.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import read_lines
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import write_lines
from dlfa_adapters.ground.errors import ConfigError, RunError, check_format, told_if_damaged
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.ground.folders import (
    Ours,
    bring_back,
    check_writable,
    draft_beside,
    is_empty,
    others,
    put_in_place,
    remove_drafts,
)
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.predict import Predicted, Predictions
from dlfa_adapters.predict.load import with_labels
from dlfa_adapters.scores.report import ABOUT, FORMAT, Report

REPORT = "evaluation.json"
_PLAIN_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,40}")


def default_folder(run: str | Path, source: str, split: str) -> Path:
    """Where an evaluation is saved if no other is given: beside the run, by data and split."""
    data = re.sub("[^A-Za-z0-9_-]+", "-", source if ":" in source else Path(source).name).strip("-")[:60] or "data"
    return _beside(run) / f"{data}-{split}"


def evaluations_of(run: str | Path) -> list[Path]:
    """The evaluations that were saved beside a run, by name."""
    return [path.parent for path in sorted(_beside(run).glob(f"*/{REPORT}"))]


def _beside(run: str | Path) -> Path:
    run = Path(run).absolute()
    return run.parent / f"{run.name}-evaluated"


def check_evaluation_place(folder: str | Path) -> None:
    """Checks that an evaluation can be written to a folder; an earlier evaluation is replaced.

    Raises:
        ConfigError: If something else is there, or nothing can be written there.
    """
    folder = Path(folder)
    check_writable(folder)
    bring_back(folder, REPORT, _files_of)
    if is_empty(folder):
        return
    if not _files_of(folder)(REPORT):
        raise ConfigError(f"{folder} exists and is not a saved evaluation; give another folder with --out.")
    if folder.is_symlink():
        raise ConfigError(f"{folder} is a symbolic link; give the folder itself, --out {os.path.realpath(folder)}.")
    if stay := others(folder, _files_of(folder)):
        raise ConfigError(
            f"{folder} would be replaced, but {stay[0]} in it is not of the evaluation; move it away, or give another "
            "folder with --out."
        )


def save_evaluation(folder: str | Path, predictions: Predictions, report: Report) -> Path:
    """Write an evaluation.

    Args:
        folder: Where to; an earlier evaluation there is replaced.
        predictions: The predictions of the model.
        report: What `evaluate.build_report` made of it.

    Returns:
        The folder.

    Raises:
        ConfigError: If something other than an evaluation is in the way.
        DataError: If a word holds a TAB or a line end, so that it cannot stand in columns.
    """
    check_evaluation_place(folder)
    folder = Path(folder)
    remove_drafts(folder)
    with draft_beside(folder) as draft:
        _write(draft, predictions, report)
        put_in_place(draft, folder, REPORT, _files_of)
    return folder


def _files_of(folder: Path) -> Ours:
    """Which files in a folder are those of the evaluation in it; none where there is none."""
    try:
        record = json.loads((folder / REPORT).read_text("utf-8"))
        entries = [*record["files"].values(), *(each["ids"] for each in record["files"].values() if "ids" in each)]
        names = {REPORT, "evaluation.md", *(each["file"] for each in entries)}
        names = names if isinstance(record["format"], int) else set()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        names = set()
    return names.__contains__


def is_evaluation(folder: str | Path) -> bool:
    """Whether a folder is a saved evaluation."""
    return (Path(folder) / REPORT).is_file()


def read_evaluation(folder: str | Path) -> Predictions:
    """Read the predictions of a saved evaluation.

    Raises:
        RunError: If it is none, was written by a newer version, or a file is missing or changed.
    """
    with _record_of(folder) as record:
        task, sources = record["task"], record["source_languages"]
        if not isinstance(sources, list):
            raise TypeError(f"source_languages is {sources!r}")
        known = with_labels(task["name"], task["kind"], task["labels"])
        return Predictions(
            name=str(folder),
            task=replace(known, parallel=bool(task.get("parallel", known.parallel))),
            source_languages=sources,
            languages=[_read_predicted(Path(folder), name, known.kind, its) for name, its in record["files"].items()],
            about={name: record[name] for name in ABOUT if name in record},
        )


def read_report(folder: str | Path) -> Report:
    """Read the report of a saved evaluation.

    Raises:
        RunError: As for `read_evaluation`; the files of predictions are not looked at.
    """
    with _record_of(folder) as record:
        return Report.from_dict(record)


@contextmanager
def _record_of(folder: str | Path) -> Iterator[dict[str, Any]]:
    """What `evaluation.json` holds; whatever is wrong with it becomes one sentence."""
    file = Path(folder) / REPORT
    bring_back(file.parent, REPORT, _files_of)
    try:
        with told_if_damaged(file, f"evaluate again with --out {folder}"):
            record = json.loads(file.read_text("utf-8"))
            check_format(folder, "evaluation", record["format"], FORMAT)
            yield record
    except FileNotFoundError as error:
        raise RunError(f"{folder} is not a whole saved evaluation: it lacks {Path(error.filename).name}.") from None


def _write(folder: Path, predictions: Predictions, report: Report) -> None:
    from dlfa_adapters.scores.show import markdown

    record = {**report.to_dict(), "files": _write_predicted(folder, predictions.languages)}
    (folder / "evaluation.md").write_text(markdown(report), "utf-8")
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
    (folder / REPORT).write_text(text + "\n", "utf-8")


def _write_predicted(folder: Path, languages: Sequence[Predicted]) -> dict[str, dict[str, Any]]:
    """Write the predictions of all languages into `predictions/`; gives `file`, `sha256`, `own_ids`, `ids` of each."""
    (folder / "predictions").mkdir()
    names = prediction_names([language.language for language in languages])
    files: dict[str, dict[str, Any]] = {}
    for language, name in zip(languages, names, strict=True):
        kind = kind_named(language.kind)
        path = folder / "predictions" / f"{name}{kind.suffix}"
        kind.write_predictions(path, language)
        entry = {**_named(folder, path), "own_ids": language.own_ids}
        if kind.ids_beside and language.own_ids:
            if any("\n" in name or "\r" in name for name in language.ids):
                entry["own_ids"] = False  # cannot stand on a line each
            else:
                write_lines(path.with_suffix(".ids"), language.ids)
                entry["ids"] = _named(folder, path.with_suffix(".ids"))
        files[language.language] = entry
    return files


def _unchanged(folder: Path, entry: dict[str, Any]) -> Path:
    path = folder / entry["file"]
    if sha256_of(path) != entry["sha256"]:
        raise RunError(f"{path} is not the file that was written (cut short or changed); evaluate again.")
    return Path(path)


def _read_predicted(folder: Path, language: str, kind: str, entry: dict[str, Any]) -> Predicted:
    """Read the predictions of a language, of which `_write_predicted` gave `entry`."""
    path = _unchanged(folder, entry)
    ids = read_lines(_unchanged(folder, entry["ids"]), Notes(path)) if "ids" in entry else None
    columns = kind_named(kind).read_predictions(path, ids)
    return Predicted(language=language, kind=kind, own_ids=entry.get("own_ids"), **columns)


def prediction_names(languages: Sequence[str]) -> list[str]:
    """A file name without suffix for each language: its code, or a number where that is no plain name or is taken."""
    names: list[str] = []
    for number, language in enumerate(languages, 1):
        taken = {name.lower() for name in names}
        plain = _PLAIN_NAME.fullmatch(language) is not None and language.lower() not in taken
        names.append(language if plain else f"language.{number}")
    return names


def _named(folder: Path, path: Path) -> dict[str, Any]:
    return {"file": path.relative_to(folder).as_posix(), "sha256": sha256_of(path)}
