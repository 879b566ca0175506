"""Run folders, and the encoders that runs name."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.lazy import lazily
from dlfa_adapters.runs.folder import Run, read_run, versions, write_run

if TYPE_CHECKING:
    from dlfa_adapters.heads.encoder import fingerprint
    from dlfa_adapters.runs.encoders import Encoder, load_encoder, load_tokenizer

__all__ = ["Encoder", "Run", "fingerprint", "load_encoder", "load_tokenizer", "read_run", "versions", "write_run"]

__getattr__ = lazily(__name__, dict.fromkeys(("Encoder", "fingerprint", "load_encoder", "load_tokenizer"), "encoders"))
