"""Fusion and classifier in one module: what is trained on top of an encoder, and what PEFT must save completely."""

from typing import Any

from torch import Tensor, nn
from transformers.activations import get_activation

from dlfa_adapters.fusion import make_bilstm, make_fusion
from dlfa_adapters.fusion.options import flat
from dlfa_adapters.fusion.readout import pool_tokens
from dlfa_adapters.ground.errors import ConfigError


class DLFAClassifier(nn.Module):
    """Fuses the states of an encoder and maps the result to scores of labels.

    One module, called `classifier` in the models: PEFT saves a module of that name with token and sequence
    classification whatever its settings, so the running statistics of the fusion's batch norm are never left behind.

    Args:
        config: A `DLFAConfig`.

    Attributes:
        fusion: The fusion.
        bilstm: An LSTM over the tokens, or None.
        out: Dropout and linear maps; the same places as in a head of adapters with as many layers.

    Raises:
        ConfigError: If an option of the fusion, the LSTM or the activation has a value that cannot work.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        head = config.head
        try:
            self.fusion = make_fusion(
                head.fusion,
                config.hidden_size,
                num_layers=config.num_hidden_layers,
                num_lower=len(head.layers),
                **flat(head.fusion_options),
            )
            self.bilstm = make_bilstm(head.classifier, config.hidden_size, head.lstm_hidden, head.lstm_dropout)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        width = config.hidden_size if self.bilstm is None else 2 * head.lstm_hidden
        self.out = nn.Sequential(*_layers(config, width))

    def forward(self, *states: Tensor, attention_mask: Tensor | None = None, pooling: str | None = None) -> Tensor:
        """Fuse, read with the LSTM if there is one, pool, classify.

        Args:
            *states: As `select_states` picks them, (batch, seq, width) each.
            attention_mask: Non-zero at real tokens, (batch, seq).
            pooling: None for scores of every token, otherwise see `pool_tokens`.

        Returns:
            Scores, (batch, seq, labels), or (batch, labels) with pooling.
        """
        if self.training:
            self._refuse_updates()
        dtype = next(self.out.parameters()).dtype  # float32 on top of an encoder in 16 or 4 bits
        fused = self.fusion(*(state.to(dtype) for state in states), attention_mask=attention_mask)
        if self.bilstm is not None:
            fused = self.bilstm(fused, attention_mask)
        return self.out(fused if pooling is None else pool_tokens(fused, attention_mask, pooling))

    def _refuse_updates(self) -> None:
        """Refuse layers of PEFT inside: it would save them without the running statistics, or could not load them."""
        for name, module in self.named_modules():
            if type(module).__module__.startswith("peft."):
                raise ConfigError(
                    f"PEFT has put an update inside the classifier ({name}), which is trained and saved as a whole; "
                    "type get_peft_model(model, lora_config(model, target_modules='all-linear'))."
                )


def _layers(config: Any, width: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for _ in range(config.classifier_layers - 1):
        layers += [nn.Dropout(config.classifier_dropout), nn.Linear(width, width)]
        if config.classifier_activation:
            layers.append(_activation(config.classifier_activation))
    last = nn.Linear(width, config.num_labels, bias=config.classifier_bias)
    return [*layers, nn.Dropout(config.classifier_dropout), last]


def _activation(name: str) -> nn.Module:
    try:
        return get_activation(name)
    except KeyError:
        raise ConfigError(f"Transformers has no activation {name!r}; type classifier_activation='tanh'.") from None
