"""Many fusions of one encoder, several seeds each, in one go: the paper's table with spread and intervals."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.packages import lazily

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
