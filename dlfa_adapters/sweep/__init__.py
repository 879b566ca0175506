"""Many fusions of one encoder, several seeds each, in one go: the paper's table with spread and intervals."""

from dlfa_adapters.sweep.prepare import Prepared
from dlfa_adapters.sweep.results import SweepResult, SweepRow
from dlfa_adapters.sweep.run import Sweep, run_sweep
from dlfa_adapters.sweep.table import SweepTable, make_table
from dlfa_adapters.sweep.variants import make_variants

__all__ = ["Prepared", "Sweep", "SweepResult", "SweepRow", "SweepTable", "make_table", "make_variants", "run_sweep"]
