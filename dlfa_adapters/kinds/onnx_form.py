"""What an ONNX file has of a model: inputs and outputs, what to try it with, and how far it is from the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class OnnxForm:
    """The form of models that give one tensor of logits.

    Args:
        by_piece: Whether there are logits for each piece, and not for a text.

    Attributes:
        inputs: Names of inputs besides `input_ids` and `attention_mask`.
        outputs: Names of outputs.
        about: What a user of the file must know besides.
    """

    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ("logits",)
    about: Mapping[str, Any] = {}

    def __init__(self, by_piece: bool) -> None:
        self.by_piece = by_piece

    def axes(self) -> dict[str, dict[int, str]]:
        """The sizes that are free, of the inputs and outputs named here."""
        return {"logits": {0: "batch", 1: "length"} if self.by_piece else {0: "batch"}}

    def draw(self, mask: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        """Values for `inputs`.

        Args:
            mask: The attention mask of the batch.
            generator: What draws.
        """
        return {}

    def reduce(self, logits: Any) -> tuple[Tensor, ...]:
        """The outputs, from what the model gives as logits."""
        return (logits,)

    def difference(self, found: Sequence[Tensor], logits: Any, given: Mapping[str, Tensor]) -> float:
        """How far outputs of a file are from the logits of the model; NaN where a number is none.

        Args:
            found: What the file gives.
            logits: What the model gives.
            given: The inputs of both, by name.
        """
        apart = (found[0] - logits).abs()
        kept = apart[given["attention_mask"] == 1] if self.by_piece else apart
        return float("nan") if apart.isnan().any() else float(kept.max())
