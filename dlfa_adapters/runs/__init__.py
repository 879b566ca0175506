"""Run folders: what is in them, and how a training comes to one."""

from dlfa_adapters.runs.folder import Run, read_run, write_run

__all__ = ["Run", "read_run", "write_run"]
