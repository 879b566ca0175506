"""Training: Trainer-based runs, and heads on frozen states."""

from dlfa_adapters.training.plan import Plan
from dlfa_adapters.training.settings import Settings
from dlfa_adapters.training.train import resume_training, train

__all__ = ["Plan", "Settings", "resume_training", "train"]
