"""Heads on the states of a frozen encoder: the encoder runs once, many heads learn side by side."""

from dlfa_adapters.frozen.compute import compute_states
from dlfa_adapters.frozen.examples import TaggedStates, encode_tagged
from dlfa_adapters.frozen.kept import TrainedHead
from dlfa_adapters.frozen.side_by_side import predict_heads, train_heads
from dlfa_adapters.frozen.stacked import FusionClassifier, HeadSpec
from dlfa_adapters.frozen.states import HiddenStates, States, StreamedStates

__all__ = [
    "FusionClassifier",
    "HeadSpec",
    "HiddenStates",
    "States",
    "StreamedStates",
    "TaggedStates",
    "TrainedHead",
    "compute_states",
    "encode_tagged",
    "predict_heads",
    "train_heads",
]
