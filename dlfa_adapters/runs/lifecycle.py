"""A training on its way to the folder that it leaves, whatever is trained: place, plan, checkpoints, resume, end.

While it lasts, a folder beside its place, `runs/ner.training` for `runs/ner`, holds its configuration
(`training.json`) and its checkpoints. That folder, a search's and a sweep's are `WorkFolder`s: of this library, and
emptied by it, but of nothing that others have put there.
"""

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from dlfa_adapters.ground.environment import is_main
from dlfa_adapters.ground.errors import ConfigError, RunError, mend, wrong_in
from dlfa_adapters.ground.files import read_json, write_json
from dlfa_adapters.ground.folders import is_marked, mark, remove_drafts
from dlfa_adapters.runs import RUN_RECORD, WorkFolder, check_run_place, remove_run, write_run
from dlfa_adapters.runs.record import training_schema

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PLAN = "training.json"
_FILES = re.compile(
    r"training\.json|(states/[^/]+|(epoch(-\d+)?|shorter)(\.before)?)\.safetensors|checkpoint-\d+/.*"
    r"|runs/.*"  # curves, where --report-to tensorboard writes them
)


def work_folder(run: Path) -> Path:
    """Where a training saves its checkpoints until its folder is written."""
    return run.absolute().with_name(f"{run.name}.training")


def training_work(run: Path) -> WorkFolder:
    """The same as what this library may empty."""
    return WorkFolder(work_folder(run), "a training that has not ended", "the training", _PLAN, _FILES)


def check_training_place(run: Path, record: str = RUN_RECORD) -> None:
    """Refuse a place where a training cannot write its folder, or its checkpoints beside it.

    Raises:
        ConfigError: If something stands there that it did not make.
    """
    check_run_place(run, record)
    _check_work(run)


def _check_work(run: Path) -> WorkFolder:
    work = training_work(run)
    work.check(f"The checkpoints of {run}", lambda plan: wrong_in(plan, training_schema) is None)
    return work


def remove_work(run: Path) -> None:
    """Delete the working folder of a training that is done; what others have put there stays, with a warning."""
    work = training_work(run)
    if is_marked(work.path, work.kind):
        work.clear()


def remove_training(run: Path) -> None:
    """Delete a run, whatever of it there is, and nothing else that is in its folders; no run is no error."""
    remove_work(run)
    remove_drafts(run)
    remove_run(run)


def has_plan(run: Path) -> bool:
    """Whether there is a training of this run that did not end."""
    return (work_folder(run) / _PLAN).is_file()


def read_plan(run: Path) -> dict[str, Any]:
    """The configuration of a training that did not end.

    Raises:
        RunError: If there is no such training.
    """
    path = work_folder(run) / _PLAN
    try:
        plan = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(
            f"There is no training of {run} to resume ({path} is missing); start it without --resume."
        ) from None
    except (ValueError, RecursionError) as error:
        raise RunError(mend(path, str(error), "start the training again without --resume")) from error
    if wrong := wrong_in(plan, training_schema):
        raise RunError(mend(path, wrong, "start the training again without --resume"))
    return dict(plan)


def request_left(run: Path, record: str = RUN_RECORD) -> dict[str, Any] | None:
    """The arguments of a training that was cut short; None if it has ended.

    Raises:
        RunError: If there is neither.
    """
    if (run / record).is_file() and not has_plan(run):
        remove_work(run)  # killed while it was deleted
        return None
    return dict(read_plan(run)["request"])


class Training:
    """A training of one folder.

    Args:
        out: The folder; see `runs.write_run`.
        record: Its `run.json`, by that or another name.

    Attributes:
        before: The plan of the training that is gone on with; None: it begins.
        id: What tells it from another training with the same folder.
        folder: Its checkpoints.

    Raises:
        ConfigError: If something stands there that a training did not make.
    """

    def __init__(self, out: Path, record: str = RUN_RECORD) -> None:
        check_training_place(out, record)
        self.out, self.record, self.folder, self.id = out, record, work_folder(out), uuid.uuid4().hex
        self.before: dict[str, Any] | None = None

    def resume_finds_it_done(self, resume: bool | Literal["auto"]) -> bool:
        """Take up what was cut short, its plan as `before` and its `id`; where nothing of it is left to do, clean up.

        All processes that train together read what stands there; the main one alone cleans up.

        Args:
            resume: Whether to; `auto`: where there is something.

        Returns:
            Whether there is nothing left to do: this very training has written its folder, and was cut short only while
            it cleaned up. False where it goes on or begins.

        Raises:
            RunError: If there is nothing to resume.
        """
        if not (resume is True or (resume == "auto" and has_plan(self.out))):
            return False
        self.before = read_plan(self.out)
        self.id = str(self.before["id"])
        written = read_json(self.out / self.record).get("training", {})
        if not isinstance(written, dict) or written.get("id") != self.id:
            return False
        if is_main():
            remove_work(self.out)
        return True

    @contextmanager
    def planned_alone(
        self, request: dict[str, Any], encoder: str, data: dict[str, Any], chosen: dict[str, Any] | None = None
    ) -> Iterator[None]:
        """Write the plan, or compare it with the one that is there, and keep every other training of this run away.

        Each would take the other's checkpoints for its own. Of processes that train together all compare, and the main
        one alone writes and locks: it is a lock on the folder beside the run, which ends with the process, however that
        ends. Windows and some network file systems have none; there nobody is locked out.

        Args:
            request: All arguments, as they read in a file.
            encoder: Fingerprint of the encoder.
            data: Descriptions of the data, with their fingerprints.
            chosen: What was chosen before the first step.

        Raises:
            RunError: If it goes on, and began otherwise.
            ConfigError: If another process trains it.
        """
        plan = json.loads(json.dumps({"request": request, "encoder": encoder, "data": data}))
        if self.before:
            _check_same(self.before, plan, self.out)
        if not is_main():
            yield
            return
        work = _check_work(self.out)
        mark(work.path, work.kind)
        with _locked(work.path, self.out):
            if not self.before:
                work.begin()
                write_json(work.path / _PLAN, {"id": self.id, **plan, "chosen": chosen})
            yield

    def end(self, config: Mapping[str, Any], write_files: Callable[[Path], None]) -> None:
        """Put the complete folder in its place, and delete what only the training needed; for the main process."""
        remove_drafts(self.out)
        write_run(self.out, config, write_files, record=self.record)
        remove_work(self.out)


@contextmanager
def _locked(folder: Path, run: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(
                    f"Another process is training {run}; wait for it, or give another folder with --out."
                ) from None
        yield
    finally:
        os.close(held)


def _check_same(before: dict[str, Any], now: dict[str, Any], out: Path) -> None:
    """Refuse, with a `RunError`, to go on with something else."""
    request, requested = before["request"], now["request"]
    changed = [key for key in requested if request.get(key) != requested[key]]
    if changed:
        key = changed[0]
        raise RunError(
            f"The training of {out} began with {key}={request.get(key)!r}, now it is {requested[key]!r}; "
            "resume it as it began, or start it again without --resume."
        )
    for key in ("encoder", "data"):
        if before[key] != now[key]:
            raise RunError(f"The {key} of the training of {out} changed since it began; start it without --resume.")
