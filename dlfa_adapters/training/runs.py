"""Run folders are in `dlfa_adapters.runs`."""

from dlfa_adapters.runs.folder import Run, read_run, versions, write_run

__all__ = ["Run", "read_run", "versions", "write_run"]
