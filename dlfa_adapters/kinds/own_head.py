"""A head that a kind of task brings itself, because adapters has none of the sort."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers.utils import ModelOutput


@dataclass
class HeadOutput(ModelOutput):
    """What a model with a head of a kind's own gives.

    Attributes:
        loss: With labels.
        logits: What the head gives: a tensor or several.
        hidden_states: The encoder's, where requested.
        attentions: The encoder's, where requested.
    """

    loss: Tensor | None = None
    logits: Any = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class OwnHead(nn.Module, ABC):
    """Scores on fused states, the same module in a head on adapters and in a plain model.

    Attributes:
        options: Its options by name, with the values that it was built with.
    """

    options: Mapping[str, Any]

    @abstractmethod
    def forward(self, states: Tensor, attention_mask: Tensor | None = None, **inputs: Tensor | None) -> Any:
        """Scores.

        Args:
            states: Fused states, (batch, seq, width).
            attention_mask: Non-zero at real tokens, (batch, seq) without what a prompt puts in front. Without it all
                are.
            **inputs: Those of `Kind.head_inputs`.
        """

    @abstractmethod
    def loss(self, scores: Any, **labels: Tensor) -> Tensor:
        """The loss in float32, a mean over the items that `Kind.items_in_loss` counts; 0 where there are none.

        Args:
            scores: What `forward` gave.
            **labels: Those of `Kind.label_inputs`.
        """

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draw all weights anew, those of the modules inside included."""
