"""Run folders: all that is needed to use or repeat a training, complete or not there."""

import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.environment import versions
from dlfa_adapters.ground.errors import ConfigError, RunError, check_format, mend, told_if_damaged, wrong_in
from dlfa_adapters.ground.files import is_draft, read_json, sha256_of, write_json
from dlfa_adapters.ground.folders import (
    Ours,
    bring_back,
    check_writable,
    draft_beside,
    is_empty,
    is_marked,
    mark,
    others,
    put_in_place,
    remove,
)
from dlfa_adapters.runs.record import run_schema

__all__ = ["Run", "read_run", "write_run"]

logger = logging.getLogger(__name__)

FORMAT, CENTRED = 1, 2
"""Of a run; and of one that was trained on centred languages, which versions that cannot centre must not take."""

RUN_RECORD = "run.json"
RUN_MODEL_TYPE = "dlfa-run"
"""`model_type` in a run's `config.json`, by which the Auto classes of Transformers know it (`predict.auto`)."""
_LOADED = ("head", "adapters", "peft", "encoder")
"""Folders in a run whose files are read as its weights and their descriptions."""


@dataclass(frozen=True)
class Run:
    """A run folder that was read and is complete.

    Attributes:
        folder: Where it is.
        config: What `run.json` holds: `task`, `labels`, `encoder`, `head`, `windows`, `seed`, `data`, `metrics`,
            `versions`, and under `files` the sha256 of every other file.
    """

    folder: Path
    config: dict[str, Any]


def write_run(
    folder: str | Path, config: Mapping[str, Any], write_files: Callable[[Path], None], *, record: str = RUN_RECORD
) -> Run:
    """Write a run folder: first a draft beside it, then a rename.

    An earlier run of the same name is replaced, see `ground.folders.put_in_place`; any other folder in the way is left
    alone.

    Args:
        folder: Where it shall be.
        config: What goes into `run.json`; format, versions and checksums are added.
        write_files: Writes everything else into the folder that it is given.
        record: Another name for `run.json`, for a folder that holds something else than a run.

    Raises:
        ConfigError: If something that is not such a folder is in the way.
    """
    folder = Path(folder)
    _check_kind(folder, record)
    with draft_beside(folder) as draft:
        write_files(draft)
        if record == RUN_RECORD:
            write_json(draft / "config.json", {"model_type": RUN_MODEL_TYPE})
        files = {path.relative_to(draft).as_posix(): path for path in sorted(draft.rglob("*")) if path.is_file()}
        content = {
            "format": CENTRED if "center" in config else FORMAT,
            **config,  # read after `write_files`, which may add to it
            "versions": versions(),
            "files": {name: sha256_of(path) for name, path in files.items()},
        }
        write_json(draft / record, content)
        put_in_place(draft, folder, record, lambda earlier: files_of(earlier, record))
    return Run(folder, content)


def move_run(run: Path, folder: Path) -> None:
    """Give a run another name, on the same file system; an earlier run of that name is replaced."""
    _check_kind(folder, RUN_RECORD)
    put_in_place(run, folder, RUN_RECORD, files_of)


def remove_run(folder: Path) -> None:
    """Delete a run, and nothing else that is in its folder; no run is no error."""
    bring_back(folder, RUN_RECORD, files_of)
    remove(folder, files_of(folder), last=RUN_RECORD)


def files_of(folder: Path, record: str = RUN_RECORD) -> Ours:
    """Which files in a run folder are the run's, by its record; none where that cannot be read."""
    try:
        content = json.loads((folder / record).read_text("utf-8"))
        names = {record, *content["files"]} if isinstance(content["format"], int) else set()
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        names = set()
    return names.__contains__


def check_run_place(folder: Path, record: str = RUN_RECORD) -> None:
    """Refuse a place where something stands that cannot be replaced, or where nothing can be written.

    Raises:
        ConfigError: If something is there that is not a folder of this kind, or has files in it that are not of it.
    """
    _check_kind(folder, record)
    if os.path.lexists(folder) and (stay := others(folder, files_of(folder, record))):
        named = ", ".join(stay[:3]) + (f" and {len(stay) - 3} more" if len(stay) > 3 else "")
        raise ConfigError(
            f"{folder} would be replaced, but has files in it that are not of it ({named}); move them away, or give "
            "another folder with --out."
        )


def _check_kind(folder: Path, record: str) -> None:
    check_writable(folder)
    bring_back(folder, record, lambda earlier: files_of(earlier, record))
    if not os.path.lexists(folder):
        return
    kind = "a run folder" if record == RUN_RECORD else f"a folder with {record}"
    if not (folder / record).is_file():
        raise ConfigError(f"{folder} exists and is not {kind}; give another folder with --out.")
    if folder.is_symlink():
        raise ConfigError(f"{folder} is a symbolic link; give the folder itself, --out {os.path.realpath(folder)}.")
    if not files_of(folder, record)(record):
        raise ConfigError(
            f"{folder} exists and its {record} is not one of this library, or is damaged; give another folder with "
            "--out, or delete it."
        )


def read_run(folder: str | Path) -> Run:
    """Read a run folder and check that every file is there with the bytes that were written.

    Raises:
        RunError: If it is not a run folder, was written by a newer version, or a file is missing or damaged.
    """
    folder = Path(folder)
    bring_back(folder, RUN_RECORD, files_of)
    if not folder.is_dir():
        raise RunError(f"There is no run folder {folder}; `dlfa demo` and `dlfa train` make one.")
    try:
        with told_if_damaged(folder / RUN_RECORD, "train the run again"):
            config = json.loads((folder / RUN_RECORD).read_text("utf-8"))
            written, files = config["format"], dict(config["files"])
    except FileNotFoundError:
        inside = [str(path.parent) for path in sorted(folder.glob(f"*/{RUN_RECORD}"))[:3]]
        hint = f"; of the runs in it type one: {', '.join(inside)}" if inside else ""
        if (folder / "model.safetensors").is_file():
            hint = "; it looks like an encoder, which an analysis takes with --model"
        raise RunError(f"{folder} is not a run folder: it has no {RUN_RECORD}{hint}.") from None
    check_format(folder, "run", written, CENTRED if "center" in config else FORMAT)
    if wrong := wrong_in(config, run_schema):
        raise RunError(mend(folder / RUN_RECORD, wrong, "copy it again or train the run again"))
    _check_all_listed(folder, files)
    for name, sha256 in files.items():
        path = folder / name
        if not path.is_file():
            raise RunError(f"The run folder {folder} lacks its file {name}; copy it again or train the run again.")
        if sha256_of(path) != sha256:
            raise RunError(
                f"{name} in the run folder {folder} is not the file that was written (cut short or changed); "
                "copy it again or train the run again."
            )
    return Run(folder, config)


def _check_all_listed(folder: Path, files: Mapping[str, str]) -> None:
    """Refuse, with a `RunError`, a run with a file among those that are loaded which nothing vouches for."""
    for part in _LOADED:
        for name in others(folder / part, lambda name, part=part: f"{part}/{name}" in files):  # type: ignore[misc]
            raise RunError(
                f"{folder / RUN_RECORD} has no checksum of {part}/{name}, which is in the run folder; copy the run "
                "again or train it again."
            )


@dataclass(frozen=True)
class WorkFolder:
    """A folder that this library makes, and empties again.

    Attributes:
        path: Where it is.
        kind: What it is, in words; its marker says so.
        of: What its files are of, in words.
        record: The file by which it is known; deleted last.
        files: Which files in it are ours, by their path in it.
    """

    path: Path
    kind: str
    of: str
    record: str
    files: re.Pattern[str]

    def is_free(self, is_ours: Callable[[Any], bool] = lambda record: False) -> bool:
        """Whether it can be made here, or has been: `is_ours` knows the record of a version that set no marker."""
        return is_empty(self.path) or is_marked(self.path, self.kind) or is_ours(read_json(self.path / self.record))

    def check(self, what: str, is_ours: Callable[[Any], bool] = lambda record: False) -> None:
        """Refuse, with a `ConfigError`, a folder that somebody else has made; `what` would come into it."""
        if self.path.is_symlink() or not self.is_free(is_ours):
            why = "is a symbolic link" if self.path.is_symlink() else "is not a folder that this library made"
            raise ConfigError(
                f"{what} would come into {self.path}, which {why}; move it away, or give another folder with --out."
            )

    def begin(self) -> None:
        """Make and mark it; what an earlier one has left in it goes."""
        mark(self.path, self.kind)
        self.clear(empty_it=True)

    def clear(self, *, empty_it: bool = False) -> None:
        """Delete our files and the folder, or the files alone; what others have put there stays, with a warning."""

        def ours(name: str) -> bool:
            return self.files.fullmatch(name) is not None or is_draft(name.rpartition("/")[2])

        if stay := remove(self.path, ours, self.record, empty_it=empty_it):
            logger.warning("%s stays: %s is not of %s.", self.path, ", ".join(stay[:3]), self.of)
