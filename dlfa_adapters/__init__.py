"""Layer fusion (DLFA) heads for zero-shot cross-lingual transfer.

Importing this package registers our model classes with `adapters.AutoAdapterModel`, which from then on builds models
that have `add_dlfa_head` (without such a head they behave as upstream's), and the plain models with the Auto classes of
Transformers.
"""

import os
from typing import TYPE_CHECKING, Any

from dlfa_adapters._version import __version__

# `dlfa data` sets this for its own process: models, which it needs not, take seconds.
if TYPE_CHECKING or os.environ.pop("DLFA_DATA_ONLY", None) is None:
    from dlfa_adapters.evaluation.auto import register_runs
    from dlfa_adapters.fusion import AIF, DLFA, ScalarMix
    from dlfa_adapters.heads import DLFAHead, enable, register
    from dlfa_adapters.models import (
        DLFAConfig,
        DLFAForSequenceClassification,
        DLFAForTokenClassification,
        register_auto_classes,
    )
    from dlfa_adapters.offline import load_offline_encoder

    register_auto_classes()
    register_runs()

if TYPE_CHECKING:
    from dlfa_adapters.evaluation.load import load_run

__all__ = [
    "AIF",
    "DLFA",
    "DLFAConfig",
    "DLFAForSequenceClassification",
    "DLFAForTokenClassification",
    "DLFAHead",
    "ScalarMix",
    "__version__",
    "enable",
    "load_offline_encoder",
    "load_run",
    "register",
]


def __getattr__(name: str) -> Any:
    """`load_run`, imported on first use: it needs `datasets` and scikit-learn, which take seconds to import."""
    if name == "load_run":
        from dlfa_adapters.evaluation.load import load_run

        return load_run
    raise AttributeError(f"module 'dlfa_adapters' has no attribute {name!r}")
