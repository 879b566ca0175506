"""Prediction heads on adapters: the only place besides `tuning` and `encoders.load` that knows that library."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily

if TYPE_CHECKING:
    from dlfa_adapters.heads.decoder import load_masked_lm
    from dlfa_adapters.heads.head import DLFAHead
    from dlfa_adapters.heads.mixin import DLFAHeadsMixin
    from dlfa_adapters.heads.models import enable, register
    from dlfa_adapters.heads.trainer import AdapterTrainer

__all__ = ["AdapterTrainer", "DLFAHead", "DLFAHeadsMixin", "enable", "load_masked_lm", "register"]

__getattr__ = lazily(
    __name__,
    {
        "AdapterTrainer": "trainer",
        "DLFAHead": "head",
        "DLFAHeadsMixin": "mixin",
        "load_masked_lm": "decoder",
        **dict.fromkeys(("enable", "register"), "models"),
    },
)
