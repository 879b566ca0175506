"""Training: Trainer-based runs, and heads on frozen states."""

from dlfa_adapters.training.plan import Plan
from dlfa_adapters.training.run import resume_training, train
from dlfa_adapters.training.settings import Settings

__all__ = ["Plan", "Settings", "resume_training", "train"]
