"""The folder of a sweep: what was asked for, every score, the table; and whether it is the same sweep again.

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
import math
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlfa_adapters.errors import ConfigError, RunError
from dlfa_adapters.frozen import HeadSpec
from dlfa_adapters.runs import versions
from dlfa_adapters.runs.folder import check_writable
from dlfa_adapters.runs.whole import write_whole
from dlfa_adapters.sweep.prepare import Prepared
from dlfa_adapters.sweep.render import markdown
from dlfa_adapters.sweep.results import SweepResult, SweepRow
from dlfa_adapters.sweep.table import SweepTable

FORMAT = 1
PLAN, RESULT = "plan.json", "sweep.json"


def check_free(folder: Path) -> None:
    """Refuse a place where something stands that is not a sweep, or where nothing can be written.

    Raises:
        ConfigError: If so.
    """
    check_writable(folder)
    if folder.exists() and not (folder / PLAN).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not a sweep; give another folder with --out.")


def begin(prepared: Prepared, restart: bool) -> None:
    """Write down what is asked for, or check that it is what was asked for before.

    Other heads and seeds may be asked for: those that are there already stay. Everything that a score depends on must
    be the same.

    Args:
        prepared: The sweep.
        restart: Whether an earlier sweep in its place is deleted.

    Raises:
        RunError: If an earlier sweep in its place was another one.
    """
    folder, plan = prepared.out, _plan(prepared)
    if restart:
        shutil.rmtree(folder, ignore_errors=True)
    if (folder / PLAN).is_file():
        _compare(folder, _read_json(folder / PLAN), plan)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / PLAN, plan)


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
            )
            for head in whole["heads"]
        ]
    except (KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); start the sweep again.") from None


def _as_dict(row: SweepRow) -> dict[str, Any]:
    languages = {name: [_rounded(x) for x in values] for name, values in row.languages.items()}
    return {"spec": asdict(row.spec), "epoch": row.epoch, "dev": [_rounded(x) for x in row.dev], "languages": languages}


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
