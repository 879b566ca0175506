"""Runs as ONNX files, for use without PyTorch."""

from dlfa_adapters.export.onnx import Exported, export_onnx

__all__ = ["Exported", "export_onnx"]
