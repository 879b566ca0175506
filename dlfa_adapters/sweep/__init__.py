"""Many fusion layers in one pass over the states of a frozen encoder."""

from dlfa_adapters.sweep.examples import TaggedStates, encode_tagged
from dlfa_adapters.sweep.frozen import TrainedHead, predict_heads, train_heads
from dlfa_adapters.sweep.stacked import FusionClassifier, HeadSpec
from dlfa_adapters.sweep.states import HiddenStates, compute_states

__all__ = [
    "FusionClassifier",
    "HeadSpec",
    "HiddenStates",
    "TaggedStates",
    "TrainedHead",
    "compute_states",
    "encode_tagged",
    "predict_heads",
    "train_heads",
]
