"""Training: Trainer-based runs, and heads on frozen states."""

from dlfa_adapters.training.language import TrainedLanguage, resume_language, train_language
from dlfa_adapters.training.language_plan import LanguagePlan
from dlfa_adapters.training.plan import Plan
from dlfa_adapters.training.run import resume_training, train
from dlfa_adapters.training.settings import Settings

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
