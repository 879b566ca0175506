"""Whether a folder can be a sweep's: its own, an empty one, or none yet."""

import json
import os
from pathlib import Path

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.folders import is_empty, is_marked
from dlfa_adapters.runs.folder import check_writable

PLAN = "plan.json"
KIND = "a sweep"


def check_free(folder: Path) -> None:
    """Refuse a place where something stands that is not a sweep, or where nothing can be written.

    Raises:
        ConfigError: If so.
    """
    check_writable(folder)
    if not (is_empty(folder) or is_marked(folder, KIND) or _is_plan(folder / PLAN)):
        raise ConfigError(f"{folder} exists and is not a sweep; give another folder with --out.")
    if folder.is_symlink():
        raise ConfigError(f"{folder} is a symbolic link; give the folder itself, --out {os.path.realpath(folder)}.")


def _is_plan(path: Path) -> bool:
    """Whether this is the plan of a sweep, and not another program's."""
    try:
        plan = json.loads(path.read_text("utf-8"))
        return {"format", "task", "labels", "tuning", "data"} <= set(plan) and "fingerprint" in plan["encoder"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return False
