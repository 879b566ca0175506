"""The folder of a sweep: the request, every score, the table; and whether it is the same sweep again.

made-by-dlfa.json      says that this library made the folder
plan.json              the request, written first
states/                hidden states of a frozen encoder, see `encoders.cache`
trainings/             a file for each finished training: scores, counts of every item, weights of a head
sweep.json             every head, seed, epoch and language; the table; encoder, data, versions
sweep.md               the table for people
layers.svg             scores by layer with intervals
languages.svg          layers by languages
best/                  the run folder of the best head
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.environment import versions
from dlfa_adapters.ground.errors import RunError, told_if_damaged
from dlfa_adapters.ground.files import write_json, write_whole
from dlfa_adapters.ground.folders import mark, remove_drafts
from dlfa_adapters.kinds import metrics_for
from dlfa_adapters.learning.finish import language_names, write_head_run
from dlfa_adapters.learning.rate_choice import finite_or_none
from dlfa_adapters.runs import Run, check_run_place
from dlfa_adapters.runs.lifecycle import remove_training
from dlfa_adapters.sweeps import BEST, PLAN, TRAININGS, sweep_work
from dlfa_adapters.sweeps.frozen import trained_head
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.show import sweep_markdown
from dlfa_adapters.sweeps.table import FORMAT, RESULT, SweepTable
from dlfa_adapters.sweeps.trainings import SweepResult, SweepRow


def begin(prepared: Prepared, restart: bool) -> None:
    """Write down the request, or check that it is the earlier one.

    Other heads and seeds may be requested: those that are there already stay. Everything that a score depends on must
    be the same. With `restart` an earlier sweep is deleted first, and nothing but its own files.

    Raises:
        RunError: If an earlier sweep in its place was another one.
        ConfigError: If there are files of others in its folder `best`.
    """
    folder, plan = prepared.out, _plan(prepared)
    check_run_place(folder / BEST)
    work = sweep_work(folder)
    mark(folder, work.kind)
    if restart:
        for run in (folder / BEST, *(folder / TRAININGS).glob("run-*")):
            if run.name == BEST or re.fullmatch(r"run-\d{3,}", run.name):
                remove_training(run)
        work.clear(empty_it=True)
    if (folder / PLAN).is_file():
        with told_if_damaged(folder / PLAN, "start the sweep again with --restart"):
            before = dict(json.loads((folder / PLAN).read_text("utf-8")))
        _compare(folder, before, plan)
    write_json(folder / PLAN, plan, allow_nan=False)


def save(prepared: Prepared, result: SweepResult, table: SweepTable) -> None:
    """Write scores and table."""
    record = {
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
    write_json(prepared.out / RESULT, record, allow_nan=False)
    with write_whole(prepared.out / "sweep.md") as draft:
        draft.write_text(sweep_markdown(result, table), "utf-8")


def save_best(prepared: Prepared, result: SweepResult) -> Run:
    """Write the run folder `best` of the head that is best on source dev, which is put on the encoder of the sweep.

    Raises:
        RunError: If the head's weights are gone.
    """
    row, out, score = result.best(), prepared.out / BEST, round(result.best().dev_score, 4)
    remove_drafts(out)
    return write_head_run(
        out,
        prepared.encoder,
        prepared.task,
        trained_head(prepared, row),
        prepared.settings,
        prepared.centring,
        model={"saved": "head"},
        training={
            **prepared.settings.as_dict(),
            "head_learning_rate": row.rates.rates.head,
            "rates_tried": {str(rates): finite_or_none(dev) for rates, dev, _ in row.rates.tried},
            "fuse_layer": list(row.spec.head.layers),
            "best": f"epoch {row.epoch}",
            "picked_on": f"{language_names(result.judged_in)} dev, among {len(result.rows)} heads of a sweep",
            "dev_scores": row.dev,
        },
        data={name: prepared.data[name] for name in ("train", "dev")},
        options=prepared.options,
        metrics={
            "name": metrics_for(prepared.task)[0].main_score,
            "dev": {result.judged_in: score} if isinstance(result.judged_in, str) else score,
            "test": {language: round(score, 4) for language, score in row.scores().items()},
        },
    )


def _as_dict(row: SweepRow) -> dict[str, Any]:
    languages = {name: [_rounded(x) for x in values] for name, values in row.languages.items()}
    dev, rates = [_rounded(x) for x in row.dev], row.rates.to_dict()
    return {"spec": row.spec.record(), "rates": rates, "epoch": row.epoch, "dev": dev, "languages": languages}


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


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
            key = name if isinstance(value, dict) else f"{name}={before.get(name)!r}, not {value!r}"
            raise RunError(
                f"{folder} holds a sweep with {'other ' if isinstance(value, dict) else ''}{key}; give another folder "
                "with --out, or type --restart to replace it."
            )


def _known_by(value: Any) -> Any:
    """An encoder without the place that it was loaded from: its fingerprint says whether it is the same."""
    return {key: value[key] for key in value if key != "origin"} if isinstance(value, dict) else value
