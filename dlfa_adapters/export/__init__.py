"""Runs as ONNX files, for use without PyTorch."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily

if TYPE_CHECKING:
    from dlfa_adapters.export.onnx import Exported, export_onnx

__all__ = ["Exported", "export_onnx"]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, "onnx"))
