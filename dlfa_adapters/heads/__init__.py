"""Prediction heads on adapters: the only place besides `tuning` that knows that library."""

from typing import TYPE_CHECKING, Any

from dlfa_adapters.heads.head import DLFAHead
from dlfa_adapters.heads.mixin import DLFAHeadsMixin
from dlfa_adapters.heads.registration import enable, register

if TYPE_CHECKING:
    from dlfa_adapters.heads.trainer import AdapterTrainer

register()

__all__ = ["AdapterTrainer", "DLFAHead", "DLFAHeadsMixin", "enable", "register"]


def __getattr__(name: str) -> Any:
    """`AdapterTrainer`, imported on first use: Trainer needs `datasets` and PEFT, which take a second to import."""
    if name == "AdapterTrainer":
        from dlfa_adapters.heads.trainer import AdapterTrainer

        return AdapterTrainer
    raise AttributeError(f"module 'dlfa_adapters.heads' has no attribute {name!r}")
