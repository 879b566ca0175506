"""Layer fusion (DLFA) heads for zero-shot cross-lingual transfer.

What people do stands here, and is imported on first use: `train`, `evaluate`, `sweep`, `load_run`.

Importing this package registers our model classes with `adapters.AutoAdapterModel`, which from then on builds models
that have `add_dlfa_head` (without such a head they behave as upstream's), and the plain models with the Auto classes of
Transformers.
"""

import os
from typing import TYPE_CHECKING, Any

import dlfa_adapters.kinds  # noqa: F401 -- whose import makes them known to tasks and data, which stand below them
from dlfa_adapters._version import __version__
from dlfa_adapters.ground.environment import lazily, uncollected

if TYPE_CHECKING:
    from dlfa_adapters.encoders.offline import load_offline_encoder
    from dlfa_adapters.fusion import AIF, DLFA, ScalarMix
    from dlfa_adapters.ground.errors import DLFAError
    from dlfa_adapters.heads import DLFAHead, enable, register
    from dlfa_adapters.learning import train
    from dlfa_adapters.models import DLFAConfig, DLFAForSequenceClassification, DLFAForTokenClassification
    from dlfa_adapters.predict.load import load_run
    from dlfa_adapters.scores.evaluate import evaluate_run as evaluate
    from dlfa_adapters.sweeps import run_sweep as sweep

__all__ = [
    "AIF",
    "DLFA",
    "DLFAConfig",
    "DLFAError",
    "DLFAForSequenceClassification",
    "DLFAForTokenClassification",
    "DLFAHead",
    "ScalarMix",
    "__version__",
    "enable",
    "evaluate",
    "load_offline_encoder",
    "load_run",
    "register",
    "sweep",
    "train",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("AIF", "DLFA", "ScalarMix"), "fusion"),
        **dict.fromkeys(("DLFAHead", "enable", "register"), "heads"),
        **dict.fromkeys(("DLFAConfig", "DLFAForSequenceClassification", "DLFAForTokenClassification"), "models"),
        "load_offline_encoder": "encoders.offline",
        "DLFAError": "ground.errors",
        "train": "learning",
        "load_run": "predict.load",
        "evaluate": "scores.evaluate:evaluate_run",
        "sweep": "sweeps:run_sweep",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_models() -> None:
    """Load what takes seconds, PyTorch, Transformers and adapters, and register our models with theirs.

    `import dlfa_adapters` does so; but not in the command line, which looks at what was typed before.
    """
    with uncollected():
        from dlfa_adapters.encoders.plain import NAMED_ENCODERS
        from dlfa_adapters.heads.models import register
        from dlfa_adapters.models import register_auto_classes
        from dlfa_adapters.predict.forms import register_runs

        register()
        NAMED_ENCODERS["offline"] = _offline
        register_auto_classes()
        register_runs()


def _offline() -> Any:
    from dlfa_adapters.encoders.offline import load_offline_encoder

    return load_offline_encoder()[0]


if os.environ.pop("DLFA_MODELS_LATER", None) is None:
    load_models()
