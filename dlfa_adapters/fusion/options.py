"""The options of a head, without PyTorch."""

from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Which head is trained.

    Attributes:
        fusion: See `make_fusion`.
        fuse_layer: A layer or several; None: the task's default, scaled to the depth of the encoder; `auto`: chosen
            before the training, see `auto_layer.choose_layer`.
        gate: See `DLFA`.
        reduction: See `AIF`.
        branches: See `AIF`.
        norm: See `AIF`.
        init: See `AIF`.
        pooling: Which piece carries a word's label: `first`, `last`, `mean`.
        classifier: `linear`, or `bilstm`: a two-layer bidirectional LSTM between fusion and linear map. With the tuning
            `features` that is the feature-based model of Wu and Dredze 2019, trained with their schedule.
        lstm_hidden: See `BiLSTM`.
        lstm_dropout: See `BiLSTM`.
    """

    fusion: str = "dlfa"
    fuse_layer: tuple[int, ...] | Literal["auto"] | None = None
    gate: str | None = None
    reduction: int | float = 4
    branches: str = "both"
    norm: str = "batch"
    init: str = "kaiming"
    pooling: str = "first"
    classifier: str = "linear"
    lstm_hidden: int = 256
    lstm_dropout: int | float = 0.1

    def as_keywords(self) -> dict[str, Any]:
        """What `add_dlfa_head` takes."""
        layers = self.fuse_layer
        one = isinstance(layers, tuple) and len(layers) == 1
        return {
            **{each.name: getattr(self, each.name) for each in fields(self)},
            "fuse_layer": layers[0] if one and layers else layers,
        }
