"""Run folders, and the encoders that runs name."""

from dlfa_adapters.runs.encoders import Encoder, fingerprint, load_encoder
from dlfa_adapters.runs.folder import Run, read_run, versions, write_run

__all__ = ["Encoder", "Run", "fingerprint", "load_encoder", "read_run", "versions", "write_run"]
