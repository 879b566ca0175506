"""Run folders."""

from dlfa_adapters.runs.folder import Run, read_run, write_run

__all__ = ["Run", "read_run", "write_run"]
