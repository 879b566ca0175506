"""Trainings and their run folders."""

from dlfa_adapters.training.encoders import Encoder, load_encoder
from dlfa_adapters.training.runs import Run, read_run, write_run

__all__ = ["Encoder", "Run", "load_encoder", "read_run", "write_run"]
