"""Training: Trainer-based runs, and heads on frozen states."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily

if TYPE_CHECKING:
    from dlfa_adapters.learning.language import LanguagePlan, TrainedLanguage
    from dlfa_adapters.learning.language.train import resume_language, train_language
    from dlfa_adapters.learning.plan import Plan
    from dlfa_adapters.learning.run import resume_training, train
    from dlfa_adapters.learning.settings import Settings

__all__ = [
    "LanguagePlan",
    "Plan",
    "Settings",
    "TrainedLanguage",
    "resume_language",
    "resume_training",
    "train",
    "train_language",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("resume_language", "train_language"), "language.train"),
        **dict.fromkeys(("resume_training", "train"), "run"),
        **dict.fromkeys(("LanguagePlan", "TrainedLanguage"), "language"),
        "Plan": "plan",
        "Settings": "settings",
    },
)
