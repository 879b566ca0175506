"""Where the encoder is that a training adapts first, and what is left of one that was cut short before it began."""

from pathlib import Path
from typing import Any

from dlfa_adapters.ground.files import read_json
from dlfa_adapters.learning.adapt.options import ADAPTED
from dlfa_adapters.learning.checks import LANGUAGE_RECORD
from dlfa_adapters.runs import RUN_RECORD
from dlfa_adapters.runs.lifecycle import has_plan, read_plan


def place_of(out: str | Path) -> Path:
    """The folder of the adapted encoder beside that of a run."""
    out = Path(out)
    return out.with_name(f"{out.name}-adapted")


def run_of(place: Path) -> Path:
    """The folder of the run beside that of its adapted encoder."""
    return place.with_name(place.name.removesuffix("-adapted"))


def training_left(out: str | Path) -> dict[str, Any] | None:
    """The arguments of a training that was cut short while its encoder was adapted, or before its own first step.

    None where there is no such training: it has begun, or is done.

    Raises:
        RunError: If the plan of the adaptation is damaged.
    """
    out, place = Path(out), place_of(out)
    if has_plan(place):
        return read_plan(place)["request"].get("then")
    if has_plan(out):
        return None
    for record in (ADAPTED, LANGUAGE_RECORD):
        path, run = place / record, out / RUN_RECORD
        then = read_json(path).get("then")
        if then is not None and not (run.is_file() and run.stat().st_mtime_ns >= path.stat().st_mtime_ns):
            return dict(then)
    return None
