"""Ways of tuning: which parameters learn, and what a run keeps."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.packages import lazily
from dlfa_adapters.tuning.base import Defaults, Tuning, frozen_modules
from dlfa_adapters.tuning.registry import TUNINGS, default_tuning, get_tuning

if TYPE_CHECKING:
    from dlfa_adapters.tuning.report import PartSize, parameter_report, trainable_share

__all__ = [
    "TUNINGS",
    "Defaults",
    "PartSize",
    "Tuning",
    "default_tuning",
    "frozen_modules",
    "get_tuning",
    "parameter_report",
    "trainable_share",
]

__getattr__ = lazily(__name__, dict.fromkeys(("PartSize", "parameter_report", "trainable_share"), "report"))
