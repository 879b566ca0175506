"""Fusion and classifier in one module: what is trained on top of an encoder, and what PEFT must save completely."""

from typing import Any

from torch import Tensor, nn
from transformers.activations import get_activation

from dlfa_adapters.fusion import make_bilstm, make_fusion
from dlfa_adapters.fusion.options import flat, options_of
from dlfa_adapters.fusion.readout import pool_tokens
from dlfa_adapters.ground.errors import ConfigError, as_config_error
from dlfa_adapters.kinds import Kind
from dlfa_adapters.kinds.own_head import OwnHead


class DLFAClassifier(nn.Module):
    """Fuses the states of an encoder and maps the result to scores of labels.

    One module, called `classifier` in the models: PEFT saves a module of that name with token and sequence
    classification whatever its settings, so the running statistics of the fusion's batch norm are never left behind.

    Args:
        config: A `DLFAConfig`. The options of a head of the kind's own are attributes of it, and are set where they are
            at their defaults.
        kind: The kind of task.

    Attributes:
        fusion: The fusion.
        bilstm: An LSTM over the tokens, or None.
        out: Dropout and linear maps; the same places as in a head of adapters with as many layers. Or a head of the
            kind's own.

    Raises:
        ConfigError: If an option of the fusion, the LSTM or the activation has a value that cannot work.
    """

    def __init__(self, config: Any, kind: Kind) -> None:
        super().__init__()
        head = config.head
        with as_config_error():
            self.fusion = make_fusion(
                head.fusion,
                config.hidden_size,
                num_layers=config.num_hidden_layers,
                num_lower=len(head.layers),
                **flat(head.fusion_options),
            )
            self.bilstm = make_bilstm(head.classifier, config.hidden_size, head.lstm_hidden, head.lstm_dropout)
        width = config.hidden_size if self.bilstm is None else 2 * head.lstm_hidden
        self._is_own = kind.own_head is not None
        self.out: Any = _own_head(config, kind, width) if self._is_own else nn.Sequential(*_layers(config, width))

    def forward(
        self,
        *states: Tensor,
        attention_mask: Tensor | None = None,
        pooling: str | None = None,
        **read: Tensor | None,
    ) -> Any:
        """Fuse, read with the LSTM if there is one, pool, classify.

        Args:
            *states: As `select_states` picks them, (batch, seq, width) each.
            attention_mask: Non-zero at real tokens, (batch, seq).
            pooling: None for scores of every token, otherwise see `pool_tokens`.
            **read: Further inputs of a head of the kind's own.

        Returns:
            Scores, (batch, seq, labels), or (batch, labels) with pooling; or what a head of the kind's own gives.
        """
        if self.training:
            self._refuse_updates()
        dtype = next(self.out.parameters()).dtype  # float32 on top of an encoder in 16 or 4 bits
        fused = self.fusion(*(state.to(dtype) for state in states), attention_mask=attention_mask)
        if self.bilstm is not None:
            fused = self.bilstm(fused, attention_mask)
        if self._is_own:
            return self.out(fused, attention_mask, **read)
        return self.out(fused if pooling is None else pool_tokens(fused, attention_mask, pooling))

    def _refuse_updates(self) -> None:
        """Refuse layers of PEFT inside: it would save them without the running statistics, or could not load them."""
        for name, module in self.named_modules():
            if type(module).__module__.startswith("peft."):
                raise ConfigError(
                    f"PEFT has put an update inside the classifier ({name}), which is trained and saved as a whole; "
                    "type get_peft_model(model, lora_config(model, target_modules='all-linear'))."
                )


def _own_head(config: Any, kind: Kind, width: int) -> OwnHead:
    """The head of a kind's own, with the options that the configuration has; the others are set in it."""
    head_type = str(kind.own_head)
    names = options_of(kind.own_heads[head_type])
    given = {name: getattr(config, name) for name in names if hasattr(config, name)}
    with as_config_error():
        head = kind.make_head(head_type, width, config.num_labels, kind.own_options(head_type, given))
    for name, value in head.options.items():
        setattr(config, name, value)
    return head


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
