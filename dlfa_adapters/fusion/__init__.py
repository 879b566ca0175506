"""Layer fusion: tensors in, tensors out. Imports torch (and jaxtyping, for the shapes) alone, on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlfa_adapters.fusion.aif import AIF
    from dlfa_adapters.fusion.base import Fusion
    from dlfa_adapters.fusion.bilstm import CLASSIFIERS, BiLSTM, make_bilstm
    from dlfa_adapters.fusion.build import FUSIONS, make_fusion, register_fusion
    from dlfa_adapters.fusion.controls import ConcatMLP, OneLayer, ScalarMix
    from dlfa_adapters.fusion.dlfa import DLFA
    from dlfa_adapters.fusion.norm import MaskedBatchNorm
    from dlfa_adapters.fusion.select import FuseLayer, check_fuse_layer, select_states, state_indices

__all__ = [
    "AIF",
    "CLASSIFIERS",
    "DLFA",
    "FUSIONS",
    "BiLSTM",
    "ConcatMLP",
    "FuseLayer",
    "Fusion",
    "MaskedBatchNorm",
    "OneLayer",
    "ScalarMix",
    "check_fuse_layer",
    "make_bilstm",
    "make_fusion",
    "register_fusion",
    "select_states",
    "state_indices",
]

_MODULES = {
    "aif": ("AIF",),
    "base": ("Fusion",),
    "bilstm": ("CLASSIFIERS", "BiLSTM", "make_bilstm"),
    "build": ("FUSIONS", "make_fusion", "register_fusion"),
    "controls": ("ConcatMLP", "OneLayer", "ScalarMix"),
    "dlfa": ("DLFA",),
    "norm": ("MaskedBatchNorm",),
    "select": ("FuseLayer", "check_fuse_layer", "select_states", "state_indices"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
