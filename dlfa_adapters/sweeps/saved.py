"""The folder of a sweep: what was asked for, every score, the table; and whether it is the same sweep again.

made-by-dlfa.json      says that this library made the folder
plan.json              what was asked for, written first
states/                hidden states of a frozen encoder, see `frozen.store`
trainings/             a file for each finished training: scores, counts of every item, weights of a head
sweep.json             every head, seed, epoch and language; the table; encoder, data, versions
sweep.md               the table for people
layers.svg             scores by layer with intervals
languages.svg          layers by languages
best/                  the run folder of the best head
"""

import json
import logging
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.files import is_draft, write_whole
from dlfa_adapters.ground.folders import mark, remove, remove_drafts
from dlfa_adapters.ground.packages import versions
from dlfa_adapters.learning.checkpoints import remove_work
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import UNKNOWN, Choice
from dlfa_adapters.runs.folder import check_free as check_run_folder
from dlfa_adapters.runs.folder import remove_run
from dlfa_adapters.sweeps.place import KIND, PLAN
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.render import markdown
from dlfa_adapters.sweeps.results import SweepResult, SweepRow
from dlfa_adapters.sweeps.table import SweepTable

FORMAT = 1
RESULT = "sweep.json"
BEST, STATES, TRAININGS = "best", "states", "trainings"
_OURS = re.compile(
    r"(plan|sweep)\.json|sweep\.md|(layers|languages)\.svg|states/[^/]+\.safetensors"
    r"|trainings/(training|weights|epoch)-[0-9a-f]{16}(\.before)?\.safetensors"
)

logger = logging.getLogger(__name__)


def begin(prepared: Prepared, restart: bool) -> None:
    """Write down what is asked for, or check that it is what was asked for before.

    Other heads and seeds may be asked for: those that are there already stay. Everything that a score depends on must
    be the same.

    Args:
        prepared: The sweep.
        restart: Whether an earlier sweep in its place is deleted, and nothing but its own files.

    Raises:
        RunError: If an earlier sweep in its place was another one.
        ConfigError: If there are files of others in its folder `best`.
    """
    folder, plan = prepared.out, _plan(prepared)
    check_run_folder(folder / BEST)
    mark(folder, KIND)
    if restart:
        _remove_ours(folder)
    if (folder / PLAN).is_file():
        _compare(folder, _read_json(folder / PLAN), plan)
    _write_json(folder / PLAN, plan)


def _remove_ours(folder: Path) -> None:
    """Delete the sweep; what others have put there stays, and is said."""
    for run in (folder / BEST, *(folder / TRAININGS).glob("run-*")):
        if run.name == BEST or re.fullmatch(r"run-\d{3,}", run.name):
            remove_work(run)
            remove_drafts(run)
            remove_run(run)

    def ours(name: str) -> bool:
        return _OURS.fullmatch(name) is not None or is_draft(name.rpartition("/")[2])

    if stay := remove(folder, ours, PLAN, empty_it=True):
        logger.warning("%s stays in %s: not of the sweep.", ", ".join(stay[:3]), folder)


def save(prepared: Prepared, result: SweepResult, table: SweepTable) -> None:
    """Write scores and table."""
    whole = {
        "format": FORMAT,
        "task": {"name": result.task.name, "kind": result.task.kind, "labels": list(result.task.labels)},
        "metric": table.title,
        "tuning": result.tuning,
        "num_layers": result.num_layers,
        "sources": list(result.sources),
        "best": {"name": result.best().spec.name, "seed": result.best().spec.seed},
        **result.about,
        "versions": versions(),
        "table": table.to_dict(),
        "heads": [_as_dict(row) for row in result.rows],
    }
    _write_json(prepared.out / RESULT, whole)
    with write_whole(prepared.out / "sweep.md") as draft:
        draft.write_text(markdown(result, table), "utf-8")


def read_rows(folder: str | Path) -> list[SweepRow]:
    """The scores of a finished sweep, without the counts of items.

    Raises:
        RunError: If there is none, or its file is damaged.
    """
    path = Path(folder) / RESULT
    whole = _read_json(path)
    try:
        return [
            SweepRow(
                spec=HeadSpec(**{**head["spec"], "fuse_layer": tuple(head["spec"]["fuse_layer"])}),
                epoch=head["epoch"],
                dev=head["dev"],
                languages={name: [_number(x) for x in values] for name, values in head["languages"].items()},
                rates=Choice.from_dict(head["rates"]) if "rates" in head else UNKNOWN,
            )
            for head in whole["heads"]
        ]
    except (KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); start the sweep again.") from None


def _as_dict(row: SweepRow) -> dict[str, Any]:
    languages = {name: [_rounded(x) for x in values] for name, values in row.languages.items()}
    dev, rates = [_rounded(x) for x in row.dev], row.rates.to_dict()
    return {"spec": asdict(row.spec), "rates": rates, "epoch": row.epoch, "dev": dev, "languages": languages}


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _plan(prepared: Prepared) -> dict[str, Any]:
    """What two sweeps must have in common to be one."""
    plan = {
        "format": FORMAT,
        "task": prepared.task.name,
        "labels": prepared.task.labels,
        "tuning": str(prepared.tuning),
        "encoder": prepared.encoder.describe(),
        "data": prepared.data,
        **prepared.decisive_settings(),
    }
    return dict(json.loads(json.dumps(plan)))


def _compare(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in now.items():
        if _known_by(before.get(name)) != _known_by(value):
            told = name if isinstance(value, dict) else f"{name}={before.get(name)!r}, not {value!r}"
            raise RunError(
                f"{folder} holds a sweep with {'other ' if isinstance(value, dict) else ''}{told}; give another folder "
                "with --out, or type --restart to replace it."
            )


def _known_by(value: Any) -> Any:
    """An encoder without the place that it was loaded from: its fingerprint says whether it is the same."""
    return {key: value[key] for key in value if key != "origin"} if isinstance(value, dict) else value


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with write_whole(path) as draft:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise RunError(f"{path.parent} is no finished sweep: it has no {path.name}.") from None
    except ValueError as error:
        raise RunError(f"{path} is damaged ({error}); start the sweep again with --restart.") from error
