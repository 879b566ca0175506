"""The prediction head: fuses layers, then delegates to a stock head of adapters."""

import logging
from typing import Any

import adapters
import torch
import transformers
from adapters.heads import PredictionHead
from torch import Tensor
from transformers.utils import ModelOutput

from dlfa_adapters._version import __version__
from dlfa_adapters.encoders.parts import check_encoder, describe_encoder
from dlfa_adapters.fusion import make_bilstm, make_fusion, select_states
from dlfa_adapters.fusion.options import flat
from dlfa_adapters.fusion.readout import first_real_token
from dlfa_adapters.ground.errors import ConfigError, RunError, as_config_error
from dlfa_adapters.heads.inner import inner_head, of_width, with_prompt
from dlfa_adapters.heads.own import OwnInnerHead
from dlfa_adapters.heads.schema import HEAD_TYPE, check_head_name
from dlfa_adapters.kinds import kind_of_head
from dlfa_adapters.kinds.loss import share_of_batch
from dlfa_adapters.tasks.head_options import HeadOptions, checked_fuse_layer, split_options

logger = logging.getLogger(__name__)

FORMAT = 1
"""Number of the saved format; raised when an older version could not read it."""


class DLFAHead(PredictionHead):
    """Layer fusion in front of any stock prediction head, or one of a kind's own (Chen et al. 2022, arXiv 2205.08497).

    The head fuses hidden states of the encoder (`dlfa_adapters.fusion`), runs an LSTM over the result if it has one,
    puts it where the inner head reads the sequence output, and hands that the state of the first real token as
    `cls_output`. The rest is the inner head's. `config` holds everything that is needed to build the head again.

    Args:
        model: The model that the head is for.
        head_name: Name of the head.
        inner_head_type: One of `dlfa_adapters.heads.schema.inner_head_types()`: a `head_type` of adapters, or of a kind
            with a head of its own.
        num_labels: Number of labels.
        num_choices: Number of choices, for `multiple_choice`.
        id2label: Label names by id.
        encoder: The encoder that the head was saved from; checked against the model.
        format: Number of the saved format.
        versions: Versions of the libraries that saved it; replaced by those that run.
        **options: Options of the head, see `HeadOptions`: `fuse_layer`, `fusion`, those of the fusion, `pooling` (which
            the head does not use; it is saved for those who prepare its input), `classifier`...; and of the inner head
            (`layers`, `activation_function`, `dropout_prob`...).

    Raises:
        ConfigError: If a value cannot work; the sentence says what would.
        RunError: If `encoder` is not that of the model, or `format` is of a later version.
    """

    def __init__(
        self,
        model: Any,
        head_name: str,
        *,
        inner_head_type: str,
        num_labels: int | None = None,
        num_choices: int | None = None,
        id2label: dict[int, str] | None = None,
        encoder: dict[str, Any] | None = None,
        format: int = FORMAT,
        versions: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(check_head_name(head_name))
        if format > FORMAT:
            raise RunError(
                f"Head {head_name!r} has format {format}, this version of dlfa_adapters reads up to {FORMAT}; "
                f"type: pip install -U dlfa-adapters."
            )
        if encoder is not None:
            check_encoder(head_name, encoder, model.config)
        self.inner_head_type, self.num_layers = inner_head_type, int(model.config.num_hidden_layers)
        self.kind = kind_of_head(inner_head_type)
        own, inner_options = split_options(options)
        layers = checked_fuse_layer(own.get("fusion", "dlfa"), own.pop("fuse_layer", None), self.num_layers)
        head = HeadOptions().changed(**own, fuse_layer=layers)
        width = model.config.hidden_size
        with as_config_error():
            bilstm = make_bilstm(head.classifier, width, head.lstm_hidden, head.lstm_dropout)
            below = model if bilstm is None else of_width(model, 2 * head.lstm_hidden)
            inner = inner_head(below, head_name, inner_head_type, num_labels, num_choices, id2label, inner_options)
            fused = flat(head.fusion_options)
            module = make_fusion(head.fusion, width, num_layers=self.num_layers, num_lower=len(layers), **fused)
        self.indices = head.states(self.num_layers)
        self.fusion, self.bilstm, self.inner = module, bilstm, inner
        self.config = {
            **inner.config,
            **fused,
            "head_type": HEAD_TYPE,
            "inner_head_type": inner_head_type,
            "format": FORMAT,
            **{name: value for name, value in head.keywords().items() if name not in fused},
            "fuse_layer": list(layers) or None,
            "encoder": encoder or describe_encoder(model.config),
            "versions": {
                "dlfa_adapters": __version__,
                **{library.__name__: str(library.__version__) for library in (adapters, transformers, torch)},
            },
        }
        self._settle(model)

    def _settle(self, model: Any) -> None:
        """Device, dtype and mode of the model; and weights that are drawn already are not drawn again by it."""
        self.train(model.training)
        if model.device.type == "meta":  # from_pretrained builds without memory and fills the weights in afterwards
            return
        self.to(device=model.device, dtype=model.dtype)
        for module in self.modules():
            module._is_hf_initialized = True

    @property
    def needs_hidden_states(self) -> bool:
        """Whether any state but the last one is fused."""
        return any(k != self.num_layers for k in self.indices)

    @property
    def honours_num_items(self) -> bool:
        """Whether the loss is a share of the accumulated batch, see `dlfa_adapters.kinds.loss`."""
        return self.kind is not None and self.kind.counts_items

    @property
    def behind(self) -> str:
        """How the names of weights begin that stand behind fusion and LSTM; in a plain model it is `out.`."""
        return "inner.out." if isinstance(self.inner, OwnInnerHead) else "inner."

    def get_label_names(self) -> list[str]:
        """The inputs that are labels."""
        if self.inner_head_type == "dependency_parsing":
            return ["labels_arcs", "labels_rels"]
        return list(self.inner.get_label_names())

    def get_input_names(self) -> list[str]:
        """The inputs that are neither the encoder's nor labels."""
        if self.inner_head_type == "dependency_parsing":
            return ["word_starts"]
        return [] if self.kind is None else list(self.kind.head_inputs)

    def forward(
        self,
        outputs: ModelOutput,
        cls_output: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> ModelOutput | tuple[Any, ...]:
        """Fuse, and let the inner head predict.

        Args:
            outputs: The encoder's output, with `hidden_states` if `needs_hidden_states`.
            cls_output: Not used: it would go around the fusion.
            attention_mask: (batch, seq), non-zero at real tokens.
            return_dict: Whether to return a ModelOutput rather than a tuple.
            **kwargs: For the inner head; and `num_items_in_batch`, from Trainer.

        Returns:
            What the inner head returns.

        Raises:
            ConfigError: If the hidden states are not in `outputs`.
        """
        mask = with_prompt(attention_mask, kwargs.get("prompt_tokens_length"))
        num_items = kwargs.pop("num_items_in_batch", None)
        fused = self.fusion(*self._states(outputs), attention_mask=mask)
        if self.bilstm is not None:
            fused = self.bilstm(fused, mask)
        inner_outputs = type(outputs)(**{**outputs, "last_hidden_state": fused})
        of_text = first_real_token(fused, mask) if self.kind is not None and self.kind.pools_states else None
        output = self.inner(inner_outputs, of_text, attention_mask, True, **kwargs)
        if self.kind is not None and self.kind.counts_items and output.get("loss") is not None:
            num_labels, labels = self.config.get("num_labels", 0), kwargs[self.kind.label_inputs[0]]
            items = self.kind.items_in_loss(self.inner_head_type, num_labels, labels, attention_mask)
            output["loss"] = share_of_batch(output["loss"], items, num_items)
        return output if return_dict else output.to_tuple()

    def _states(self, outputs: ModelOutput) -> tuple[Tensor, ...]:
        last, states = outputs[0], outputs.get("hidden_states") if isinstance(outputs, ModelOutput) else None
        dtype = next(self.parameters()).dtype  # float32 on top of an encoder in 16 bits
        if not self.needs_hidden_states:
            return (last.to(dtype),) * len(self.indices)
        if states is None or len(states) != self.num_layers + 1:
            raise ConfigError(
                f"Head {self.name!r} needs the {self.num_layers + 1} hidden states of the encoder and got "
                f"{'none' if states is None else len(states)}; call the model itself, with return_dict=True and "
                f"output_hidden_states=True where it is not a class of dlfa_adapters."
            )
        return tuple(state.to(dtype) for state in select_states(self.indices, states, last))


def is_dlfa_head(head: Any) -> bool:
    """Whether a head is one of ours, also inside the wrapper that PEFT puts around modules that it saves."""
    return getattr(head, "config", {}).get("head_type") == HEAD_TYPE
