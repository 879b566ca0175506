"""The outputs of the attention heads of an encoder, as if they were its hidden states.

The output of head h in layer l, its context vector, is the attention-weighted mean of its values, before the output
projection. With H heads a layer it is state (l - 1) H + h - 1, so that whatever computes and caches hidden states does
so with these.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from dlfa_adapters.encoders.attention import attention_of
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.ground.errors import UnsupportedModelError


@dataclass(frozen=True)
class _HeadConfig:
    """What is asked of the configuration of an encoder where its states are computed.

    Attributes:
        num_hidden_layers: The number of the last state.
        hidden_size: Values of a head.
        encoder: The encoder's configuration.
    """

    num_hidden_layers: int
    hidden_size: int
    encoder: Any

    def to_json_string(self) -> str:
        """For a hash: of the encoder, and that these are heads."""
        return f"attention heads {self.encoder.to_json_string()}"


class HeadStates(nn.Module):
    """An encoder whose states are the outputs of its attention heads; it goes where `compute_states` takes an encoder.

    Args:
        model: A model of adapters or of Transformers, see `encoder_of`. It is not copied.

    Attributes:
        layers: Number of blocks.
        heads: Heads of a block.

    Raises:
        UnsupportedModelError: If the heads of the encoder cannot be told apart.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder = encoder_of(model)
        self._outputs = [attention.output for attention in attention_of(model)]
        self.layers, self.heads = len(self._outputs), int(self.encoder.config.num_attention_heads)
        size = self._outputs[0].weight.shape[1] // self.heads
        self.config = _HeadConfig(self.layers * self.heads - 1, size, self.encoder.config)

    @property
    def base_model(self) -> "HeadStates":
        """Itself: it has no heads of a task."""
        return self

    @property
    def device(self) -> torch.device:
        """Where the encoder is."""
        return torch.device(self.encoder.device)

    @property
    def active_adapters(self) -> Any:
        """The encoder's."""
        return getattr(self.encoder, "active_adapters", None)

    def forward(self, **inputs: Any) -> BaseModelOutput:
        """Run the encoder.

        Args:
            **inputs: Its inputs; what is asked of its output is not looked at.

        Returns:
            `hidden_states`, (batch, seq, values of a head) each, and the last one of them again.

        Raises:
            UnsupportedModelError: If a block ran without its output projection, or not once.
        """
        seen: list[tuple[int, Tensor]] = []
        hooks = [
            module.register_forward_pre_hook(lambda _module, given, number=number: seen.append((number, given[0])))
            for number, module in enumerate(self._outputs)
        ]
        try:
            self.encoder(**{**inputs, "output_hidden_states": False, "return_dict": True})
        finally:
            for hook in hooks:
                hook.remove()
        if [number for number, _ in seen] != list(range(self.layers)):
            raise UnsupportedModelError(
                f"expected each of the {self.layers} blocks of {self.config.encoder.model_type} to run once, in their "
                f"order, got {[number + 1 for number, _ in seen]}; give an encoder of BERT's kind."
            )
        states = tuple(each for _, given in seen for each in given.unflatten(-1, (self.heads, -1)).unbind(-2))
        return BaseModelOutput(last_hidden_state=states[-1], hidden_states=states)
