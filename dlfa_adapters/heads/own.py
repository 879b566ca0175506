"""A head of a kind's own, which adapters does not have, in the place of a stock head."""

from typing import Any

from adapters.heads import PredictionHead
from torch import Tensor
from transformers.utils import ModelOutput

from dlfa_adapters.kinds import Kind
from dlfa_adapters.kinds.own_head import HeadOutput


class OwnInnerHead(PredictionHead):
    """What a DLFA head hands the fused states to where its kind has a head of its own; called as a stock head is.

    Args:
        model: A model, or what `heads.inner.of_width` gives.
        head_name: Name of the head.
        kind: The kind.
        head_type: One of its `own_heads`.
        id2label: Label names by id.
        options: From `kind.own_options`.

    Raises:
        ValueError: If an option has a value that cannot work.
    """

    def __init__(
        self, model: Any, head_name: str, kind: Kind, head_type: str, id2label: dict[int, str], options: Any
    ) -> None:
        super().__init__(head_name)
        self.kind = kind
        self.out = kind.make_head(head_type, model.config.hidden_size, len(id2label), options)
        self.config = {
            "head_type": head_type,
            "num_labels": len(id2label),
            "label2id": {label: id_ for id_, label in id2label.items()},
            **self.out.options,
        }

    def get_label_names(self) -> list[str]:
        """The inputs that are labels."""
        return list(self.kind.label_inputs)

    def forward(
        self,
        outputs: ModelOutput,
        cls_output: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> ModelOutput | tuple[Any, ...]:
        """Scores, and with labels the loss; see `PredictionHead`."""
        inputs = {name: kwargs.get(name) for name in self.kind.head_inputs}
        labels = {name: kwargs[name] for name in self.kind.label_inputs if kwargs.get(name) is not None}
        scores = self.out(outputs[0], attention_mask, **inputs)
        loss = self.out.loss(scores, **labels) if len(labels) == len(self.kind.label_inputs) else None
        output = HeadOutput(loss, scores, outputs.get("hidden_states"), outputs.get("attentions"))
        return output if return_dict else output.to_tuple()
