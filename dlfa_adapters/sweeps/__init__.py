"""Many fusions of one encoder, several seeds each, in one go: the paper's table with spread and intervals.

Here stands what can be asked of a sweep, and what is wrong with it before a model is there.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.places import check_languages, check_source
from dlfa_adapters.ground.environment import lazily
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.folders import check_writable
from dlfa_adapters.ground.plots import check_matplotlib
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.learning.loops import check_swept
from dlfa_adapters.runs import WorkFolder
from dlfa_adapters.sweeps.variants import check_seeds, read_extra

if TYPE_CHECKING:
    from dlfa_adapters.sweeps.prepare import Prepared
    from dlfa_adapters.sweeps.run import Sweep, run_sweep
    from dlfa_adapters.sweeps.table import SweepTable, make_table
    from dlfa_adapters.sweeps.trainings import SweepResult, SweepRow
    from dlfa_adapters.sweeps.variants import make_variants

__all__ = ["Prepared", "Sweep", "SweepResult", "SweepRow", "SweepTable", "make_table", "make_variants", "run_sweep"]

__getattr__ = lazily(
    __name__,
    {
        "Prepared": "prepare",
        **dict.fromkeys(("SweepResult", "SweepRow"), "trainings"),
        **dict.fromkeys(("Sweep", "run_sweep"), "run"),
        **dict.fromkeys(("SweepTable", "make_table"), "table"),
        "make_variants": "variants",
    },
)

PLAN = "plan.json"
BEST, STATES, TRAININGS = "best", "states", "trainings"
_FILES = re.compile(
    r"(plan|sweep)\.json|sweep\.md|(layers|languages)\.svg|states/[^/]+\.safetensors"
    r"|trainings/(training|weights|epoch)-[0-9a-f]{16}(\.before)?\.safetensors|trainings/rates-[0-9a-f]{16}-\d+\.json"
)


def check_sweep(
    task: str,
    *,
    target_data: Any = None,
    split: str = "test",
    languages: Sequence[str] | None = None,
    extra: Iterable[str] = (),
    seeds: int = 3,
    limit: int | None = None,
    out: str | Path | None = None,
    **options: Any,
) -> None:
    """Refuse what cannot work; see `run_sweep` for the arguments.

    Raises:
        ConfigError: If an option has a value that cannot work, or something else than a sweep stands in its place.
        DataError: If there are no such data.
    """
    for item in extra:
        read_extra(item)
    check_seeds(seeds)
    if options.get("plots"):
        check_matplotlib()
    if limit is not None and limit < 1:
        raise ConfigError(f"expected a limit of at least 1, got {limit}.")
    for name in ("layers", "restart", "at_once", "plots", "state_budget"):
        options.pop(name, None)
    check_options(task, check=check_swept, **options)
    check_source("samples:ner" if target_data is None else target_data, split)
    if isinstance(target_data, str | Path):
        check_languages(target_data, task, split, languages)
    check_sweep_place(Path(out or f"runs/{task}-sweep"))


def sweep_work(folder: Path) -> WorkFolder:
    """The folder of a sweep."""
    return WorkFolder(folder, "a sweep", "the sweep", PLAN, _FILES)


def check_sweep_place(folder: Path) -> None:
    """Refuse, with a `ConfigError`, a place where something else stands, or where nothing can be written."""
    check_writable(folder)
    if not sweep_work(folder).is_free(_is_plan):
        raise ConfigError(f"{folder} exists and is not a sweep; give another folder with --out.")
    if folder.is_symlink():
        raise ConfigError(f"{folder} is a symbolic link; give the folder itself, --out {os.path.realpath(folder)}.")


def _is_plan(plan: dict[str, Any]) -> bool:
    """Whether this is the plan of a sweep, and not another program's."""
    encoder = plan.get("encoder")
    known = isinstance(encoder, dict) and "fingerprint" in encoder
    return known and {"format", "task", "labels", "tuning", "data"} <= set(plan)
