"""Heads on the states of a frozen encoder: the encoder runs once, many heads learn side by side."""

from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import HiddenStates, States, StreamedStates
from dlfa_adapters.learning.frozen.examples import TaggedStates, encode_tagged
from dlfa_adapters.learning.frozen.kept import TrainedHead
from dlfa_adapters.learning.frozen.side_by_side import predict_heads, train_heads
from dlfa_adapters.learning.frozen.stacked import FusionClassifier, HeadSpec

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
