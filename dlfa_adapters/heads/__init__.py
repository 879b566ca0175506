"""Prediction heads on adapters: the only place besides `tuning` that knows that library."""

from dlfa_adapters.heads.head import DLFAHead
from dlfa_adapters.heads.mixin import DLFAHeadsMixin
from dlfa_adapters.heads.registration import enable, register
from dlfa_adapters.heads.trainer import AdapterTrainer

__all__ = ["AdapterTrainer", "DLFAHead", "DLFAHeadsMixin", "enable", "register"]
