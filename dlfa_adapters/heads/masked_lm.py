"""A masked-language-model head whose logits are computed at masked positions only.

With a vocabulary of 250,000 the logits of 64 x 128 positions take 8 GB in float32. A loss needs those at the masked
positions alone, 15 % of them, and of these only some at a time.
"""

from typing import Any

import torch
from adapters.heads import PredictionHead
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers.activations import ACT2FN
from transformers.modeling_outputs import MaskedLMOutput
from transformers.utils import ModelOutput

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.kinds.loss import share_of_batch

MASKED_LM_TYPE = "masked_positions_lm"
"""`head_type` in a saved configuration."""

LOGITS_AT_ONCE = 2**27
"""Logits that are held at a time, 0.5 GB in float32. Where there are more, the backward pass computes them again."""


class MaskedLMHead(PredictionHead):
    r"""Predicts masked pieces with the encoder's own input embeddings (Devlin et al. 2019, arXiv 1810.04805).

    $$ \text{logits} = E \, A^{-1}(\mathrm{LN}(g(D h + d))) + b $$

    for the state $h$ of a position: $D, d$ are `dense`, $g$ the activation, LN is `norm`, $b$ is `bias`, one for each
    of V pieces. $E$, V x width, are the input embeddings; they are not part of the head and do not learn through it.
    $A^{-1}$ is the inverse of an active invertible adapter, whose $A$ stands behind the embeddings at the other end
    (MAD-X, Pfeiffer et al. 2020, arXiv 2005.00052); without one it is the identity.

    Args:
        model: The model that the head is for.
        head_name: Name of the head.
        activation_function: A name of Transformers' `ACT2FN`.
        layer_norm_eps: Of `norm`.
        **saved: What else a saved configuration holds; built anew.
    """

    honours_num_items = True

    def __init__(
        self,
        model: Any,
        head_name: str,
        activation_function: str = "gelu",
        layer_norm_eps: float = 1e-12,
        **saved: Any,
    ) -> None:
        super().__init__(head_name)
        self.config = {
            "head_type": MASKED_LM_TYPE,
            "activation_function": activation_function,
            "layer_norm_eps": layer_norm_eps,
        }
        self.indices = (model.config.num_hidden_layers,)  # the layers that it reads
        self.positions: Tensor | None = None  # one of each row, (batch,), which alone is read: see `heads.pieces`
        embeddings = model.get_input_embeddings()
        pieces, width = embeddings.weight.shape
        self._embeddings = (embeddings,)  # in a tuple, so that it is no module of the head and not saved with it
        self.activation = ACT2FN[activation_function]
        self.dense = nn.Linear(model.config.hidden_size, width)
        self.norm = nn.LayerNorm(width, eps=layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(pieces))
        nn.init.eye_(self.dense.weight)  # a new decoder reads states as they are: it learns faster than a random one
        nn.init.zeros_(self.dense.bias)
        self.to(device=model.device, dtype=model.dtype).train(model.training)

    @torch.no_grad()
    def expect(self, counts: Tensor) -> None:
        """Begin a new decoder with how often each piece occurs: its bias is the logarithm of the frequencies.

        Args:
            counts: Occurrences of each piece, (V,); one is added to each.
        """
        frequencies = counts.to(self.bias) + 1
        self.bias.copy_((frequencies / frequencies.sum()).log())

    def forward(
        self,
        outputs: ModelOutput,
        cls_output: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> ModelOutput | tuple[Any, ...]:
        """Predict pieces.

        Args:
            outputs: The encoder's output; the last state is (batch, seq, width).
            cls_output: Not used.
            attention_mask: Not used: padding has no labels.
            return_dict: Whether to return a ModelOutput rather than a tuple.
            **kwargs: `labels`, (batch, seq), the piece at each masked position and -100 elsewhere; the active
                `invertible_adapter`; `num_items_in_batch`, from Trainer.

        Returns:
            With labels the loss alone, the mean over the masked positions; without labels `logits`, (batch, seq, V).
        """
        states, labels, inverse = outputs[0], kwargs.get("labels"), kwargs.get("invertible_adapter")
        if labels is None:
            if self.positions is not None:
                states = states[torch.arange(len(states), device=states.device), self.positions][:, None]
            output = MaskedLMOutput(logits=self._logits(self._transform(states.flatten(0, 1), inverse)))
            output.logits = output.logits.unflatten(0, states.shape[:2])
            return output if return_dict else output.to_tuple()
        masked = labels != IGNORED
        transformed, pieces = self._transform(states[masked], inverse), labels[masked]
        count = masked.sum()
        loss = self._summed_loss(transformed, pieces) / count.clamp(min=1)
        output = MaskedLMOutput(loss=share_of_batch(loss, count, kwargs.get("num_items_in_batch")))
        return output if return_dict else output.to_tuple()

    def _transform(self, states: Tensor, inverse: nn.Module | None) -> Tensor:
        """From states to the space of the embeddings; (positions, width)."""
        transformed = self.norm(self.activation(self.dense(states)))
        return transformed if inverse is None else inverse(transformed[None], rev=True)[0]

    def _logits(self, transformed: Tensor) -> Tensor:
        """(positions, width) to (positions, V)."""
        return functional.linear(transformed, self._embeddings[0].weight, self.bias)

    def _summed_loss(self, transformed: Tensor, pieces: Tensor) -> Tensor:
        """Cross entropy summed over the positions, some of them at a time."""
        rows = max(1, LOGITS_AT_ONCE // len(self.bias))
        if len(pieces) <= rows:
            return self._loss_of(transformed, pieces)
        parts = zip(transformed.split(rows), pieces.split(rows), strict=True)
        return torch.stack([checkpoint(self._loss_of, *part, use_reentrant=False) for part in parts]).sum()

    def _loss_of(self, transformed: Tensor, pieces: Tensor) -> Tensor:
        return functional.cross_entropy(self._logits(transformed).float(), pieces, reduction="sum")
