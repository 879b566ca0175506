"""Heads on the states of a frozen encoder: the encoder runs once, many heads learn side by side."""

from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import HiddenStates, States, StreamedStates
from dlfa_adapters.learning.frozen.examples import OnStates, TaggedStates, encode_tagged
from dlfa_adapters.learning.frozen.head import HeadSpec, Rate, TrainedHead
from dlfa_adapters.learning.frozen.learn import Halving, Linear, RateTrial, learn_on_states, with_states
from dlfa_adapters.learning.frozen.module import FusionClassifier
from dlfa_adapters.learning.frozen.plateau import Plateau
from dlfa_adapters.learning.frozen.side_by_side import predict_heads, predict_ids, train_heads
from dlfa_adapters.learning.frozen.units import unit_states

__all__ = [
    "FusionClassifier",
    "Halving",
    "HeadSpec",
    "HiddenStates",
    "Linear",
    "OnStates",
    "Plateau",
    "Rate",
    "RateTrial",
    "States",
    "StreamedStates",
    "TaggedStates",
    "TrainedHead",
    "compute_states",
    "encode_tagged",
    "learn_on_states",
    "predict_heads",
    "predict_ids",
    "train_heads",
    "unit_states",
    "with_states",
]
