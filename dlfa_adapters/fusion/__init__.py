"""Layer fusion: tensors in, tensors out. Imports torch (and jaxtyping, for the shapes) alone, on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlfa_adapters.fusion.aif import AIF
    from dlfa_adapters.fusion.base import Fusion, Weights, select_states
    from dlfa_adapters.fusion.build import (
        FUSIONS,
        FuseLayer,
        check_fuse_layer,
        make_fusion,
        register_fusion,
        state_indices,
    )
    from dlfa_adapters.fusion.controls import ConcatMLP, OneLayer, ScalarMix
    from dlfa_adapters.fusion.dlfa import DLFA
    from dlfa_adapters.fusion.norm import MaskedBatchNorm
    from dlfa_adapters.fusion.options import DLFAOptions
    from dlfa_adapters.fusion.readout import CLASSIFIERS, BiLSTM, make_bilstm

__all__ = [
    "AIF",
    "CLASSIFIERS",
    "DLFA",
    "FUSIONS",
    "BiLSTM",
    "ConcatMLP",
    "DLFAOptions",
    "FuseLayer",
    "Fusion",
    "MaskedBatchNorm",
    "OneLayer",
    "ScalarMix",
    "Weights",
    "check_fuse_layer",
    "make_bilstm",
    "make_fusion",
    "register_fusion",
    "select_states",
    "state_indices",
]

_MODULES = {
    "aif": ("AIF",),
    "base": ("Fusion", "Weights", "select_states"),
    "build": ("FUSIONS", "FuseLayer", "check_fuse_layer", "make_fusion", "register_fusion", "state_indices"),
    "controls": ("ConcatMLP", "OneLayer", "ScalarMix"),
    "dlfa": ("DLFA",),
    "norm": ("MaskedBatchNorm",),
    "options": ("DLFAOptions",),
    "readout": ("CLASSIFIERS", "BiLSTM", "make_bilstm"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
