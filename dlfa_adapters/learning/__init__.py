"""Training: Trainer-based runs, and heads on frozen states."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily

if TYPE_CHECKING:
    from dlfa_adapters.learning.adapt.plan import Adapted, AdaptPlan
    from dlfa_adapters.learning.adapt.then import resume_adapted, train_adapted
    from dlfa_adapters.learning.adapt.train import adapt_encoder, resume_adaptation
    from dlfa_adapters.learning.language import LanguagePlan, TrainedLanguage
    from dlfa_adapters.learning.language.train import resume_language, train_language
    from dlfa_adapters.learning.plan import Plan
    from dlfa_adapters.learning.run import resume_training, train
    from dlfa_adapters.learning.settings import Settings

__all__ = [
    "AdaptPlan",
    "Adapted",
    "LanguagePlan",
    "Plan",
    "Settings",
    "TrainedLanguage",
    "adapt_encoder",
    "resume_adaptation",
    "resume_adapted",
    "resume_language",
    "resume_training",
    "train",
    "train_adapted",
    "train_language",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("AdaptPlan", "Adapted"), "adapt.plan"),
        **dict.fromkeys(("adapt_encoder", "resume_adaptation"), "adapt.train"),
        **dict.fromkeys(("resume_adapted", "train_adapted"), "adapt.then"),
        **dict.fromkeys(("resume_language", "train_language"), "language.train"),
        **dict.fromkeys(("resume_training", "train"), "run"),
        **dict.fromkeys(("LanguagePlan", "TrainedLanguage"), "language"),
        "Plan": "plan",
        "Settings": "settings",
    },
)
