"""Feature-based use: the encoder is frozen, its states are computed once, heads learn on them."""

from typing import Any, ClassVar

from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, no_argument

RATES = (3e-3, 1e-2, 3e-2, 1e-1)
"""Tried for every head: the best of them differs by a factor of ten between heads, and between data."""

BETO = Defaults(learning_rate=1e-3, head_learning_rate=1e-3, epochs=100, gate="attention")
"""With an LSTM (Wu and Dredze 2019, arXiv 1904.09077): Adam from 1e-3 until it has been halved below 1e-5, which takes
seven epochs without a lower loss on dev; the number of epochs is a limit that is not meant to be reached."""


class Features(Tuning):
    """The encoder stays as it is; fusion and classifier learn on its hidden states, which are computed once.

    The gate is `attention` by default: on a frozen encoder it learns faster than the printed one.
    """

    name: ClassVar[str] = "features"
    summary: ClassVar[str] = "the encoder is frozen and runs once; fusion and classifier learn on its states"
    defaults: ClassVar[Defaults] = Defaults(
        learning_rate=3e-3, head_learning_rate=3e-3, epochs=10, gate="attention", head_learning_rates=RATES
    )
    saved: ClassVar[Saved] = "head"
    on_states: ClassVar[bool] = True

    def __init__(self, argument: str | None = None) -> None:
        super().__init__(argument)
        no_argument(self)

    def prepare(self, model: Any, head_name: str) -> Any:
        """Freeze the encoder."""
        model.base_model.requires_grad_(False)
        return model

    def defaults_for(self, classifier: str) -> Defaults:
        """Those of Wu and Dredze for their LSTM."""
        return BETO if classifier == "bilstm" else self.defaults

    def frozen_blocks(self, num_layers: int) -> int:
        """All of them."""
        return num_layers
