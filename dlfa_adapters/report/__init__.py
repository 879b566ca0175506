"""The HTML report: one file that holds all it shows."""

from dlfa_adapters.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
