"""Whether a training that is to be resumed is the same one, and whether it had ended already."""

import json
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.running import is_main, wait_for_everyone
from dlfa_adapters.learning.checkpoints import last_whole, remove_work
from dlfa_adapters.learning.plan import PYTHON_OBJECTS, Source
from dlfa_adapters.runs import Run, read_run


def as_text(source: Source | None) -> str | None:
    """A source as it stands in a file; Python items cannot be written down."""
    if source is None or isinstance(source, str):
        return source
    return str(source) if isinstance(source, Path) else PYTHON_OBJECTS


def identity_of(request: dict[str, Any], encoder: str, data: dict[str, Any]) -> dict[str, Any]:
    """What makes two trainings the same, as it reads after a journey through a file.

    Args:
        request: All arguments.
        encoder: Fingerprint of the encoder.
        data: Descriptions of the data, with their fingerprints.
    """
    return dict(json.loads(json.dumps({"request": request, "encoder": encoder, "data": data})))


def last_checkpoint(folder: Path, resume: bool) -> Path | None:
    """The last whole checkpoint of a training that is resumed, in every process; None where none is."""
    wait_for_everyone()  # until the main process has written the plan
    if not resume:
        return None
    found = last_whole(folder) if is_main() else None  # which deletes what was cut short
    wait_for_everyone()
    return found if is_main() else last_whole(folder)


def run_of(out: Path, training_id: str) -> Run | None:
    """The run, if this very training has written it and was cut short only while cleaning up."""
    if not (out / "run.json").is_file():
        return None
    run = read_run(out)
    if run.config.get("training", {}).get("id") != training_id:
        return None
    if is_main():
        remove_work(out)
    return run


def check_same(before: dict[str, Any], now: dict[str, Any], out: Path) -> None:
    """Refuse to go on with something else.

    Raises:
        RunError: Naming what has changed.
    """
    request, asked = before["request"], now["request"]
    changed = [key for key in asked if request.get(key) != asked[key]]
    if changed:
        key = changed[0]
        raise RunError(
            f"The training of {out} began with {key}={request.get(key)!r}, now it is {asked[key]!r}; "
            "resume it as it began, or start it again without --resume."
        )
    for key in ("encoder", "data"):
        if before[key] != now[key]:
            raise RunError(f"The {key} of the training of {out} changed since it began; start it without --resume.")
