"""Run folders, and the encoders that runs name."""

from dlfa_adapters.heads.encoder import fingerprint
from dlfa_adapters.runs.encoders import Encoder, load_encoder, load_tokenizer
from dlfa_adapters.runs.folder import Run, read_run, versions, write_run

__all__ = ["Encoder", "Run", "fingerprint", "load_encoder", "load_tokenizer", "read_run", "versions", "write_run"]
