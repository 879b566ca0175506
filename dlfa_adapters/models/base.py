"""What the plain models share: an encoder, fusion and classifier on its states, and how they are built and saved."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from dlfa_adapters.encoders.plain import NAMED_ENCODERS, build_encoder, check_states, try_encoder
from dlfa_adapters.fusion import BiLSTM, Fusion, MaskedBatchNorm, select_states
from dlfa_adapters.fusion.base import check_mask, token_shape
from dlfa_adapters.ground.errors import UnsupportedModelError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.kinds.own_head import OwnHead
from dlfa_adapters.models.card import PublishMixin
from dlfa_adapters.models.classifier import DLFAClassifier
from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.construct import plan
from dlfa_adapters.tasks import Task

Model = TypeVar("Model", bound="DLFAPreTrainedModel")

_OF_THE_ENCODER = ("is_quantized", "is_loaded_in_4bit", "quantization_method", "hf_quantizer", "hf_device_map")


class DLFAPreTrainedModel(PublishMixin, PreTrainedModel):
    """An encoder of Transformers with layer fusion (Chen et al. 2022, arXiv 2205.08497) and a classifier on top.

    Args:
        config: A `DLFAConfig`.
        encoder: The encoder, with its weights; `config.encoder_config` is then its configuration. Without it one is
            built with weights drawn anew.

    Attributes:
        encoder: The encoder, of a class of Transformers.
        classifier: Fusion and classifier.
    """

    config_class = DLFAConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = True  # Trainer then leaves the loss as it is: it honours num_items_in_batch
    # Which attention kernels there are is up to the encoder, which refuses others itself.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    kind: ClassVar[str]
    """The kind of task that the class is for."""

    def __init__(self, config: DLFAConfig, encoder: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        if encoder is None:
            self.encoder = build_encoder(config.encoder_config)
        else:
            self.encoder = encoder
            for module in encoder.modules():  # whatever way its weights came, they are not drawn again
                module._is_hf_initialized = True
        self.classifier = DLFAClassifier(config, kind_named(self.kind))
        self.indices = config.head.states(config.num_hidden_layers)
        self._takes_segments = "token_type_ids" in inspect.signature(self.encoder.forward).parameters
        self._keep_in_fp32_modules = self.encoder._keep_in_fp32_modules
        self._no_split_modules = self.encoder._no_split_modules
        self.post_init()

    @classmethod
    def from_encoder(
        cls: type[Model],
        encoder: Any,
        fuse_layer: Any = None,
        task: str | Task | None = None,
        *,
        load_in_4bit: bool = False,
        **options: Any,
    ) -> Model:
        """Put fusion and a new classifier on a pretrained encoder.

            model = DLFAForTokenClassification.from_encoder("bert-base-multilingual-cased", task="ner")

        Args:
            encoder: A name on the hub, a folder, `offline` (from the package index), or a model of Transformers, whose
                encoder then becomes part of this one (of a model of `adapters`: a copy, without the adapters).
            fuse_layer: The layer to fuse with the last one: k is the output of block k, 0 the embeddings. A tuple fuses
                several, one after the other. The default is the paper's layer for its tasks, scaled to the depth of the
                encoder, and two thirds of the depth for others.
            task: A known task (`ner`, `pos`, `xnli`, `pawsx`...) brings labels and fuse layer; any other name needs
                `num_labels` or `id2label`.
            load_in_4bit: Load the encoder in 4 bits, to train a LoRA on; needs bitsandbytes and a GPU.
            **options: Options of `DLFAConfig`, or for loading the encoder: `dtype`, `device_map`, `revision`...

        Returns:
            The model in eval mode, where the encoder is.

        Raises:
            ConfigError: If a value cannot work; the sentence says what would.
            UnsupportedModelError: If the states of the encoder cannot be fused.
            MissingExtraError: If 4 bits are requested and bitsandbytes is not installed.
        """
        if isinstance(encoder, str) and encoder in NAMED_ENCODERS and not Path(encoder).exists():
            encoder = NAMED_ENCODERS[encoder]()
        config, load = plan(cls.kind, encoder, fuse_layer, task, load_in_4bit, options)
        loaded = load()
        try_encoder(loaded)
        return cls._around(config, loaded)

    @classmethod
    def _around(cls: type[Model], config: DLFAConfig, encoder: Any) -> Model:
        """The model around an encoder that has its weights; its classifier beside it, not in fewer bits than 16."""
        config.encoder_config = encoder.config
        model = cls(config, encoder)
        for name in _OF_THE_ENCODER:
            if hasattr(encoder, name):
                setattr(model, name, getattr(encoder, name))
        dtype = torch.float32 if getattr(encoder, "is_quantized", False) else encoder.dtype
        model.classifier.to(device=encoder.device, dtype=dtype)
        return model.eval()

    @property
    def needs_hidden_states(self) -> bool:
        """Whether any state but the last one is fused."""
        return any(k != self.config.num_hidden_layers for k in self.indices)

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: dict[str, Any] | None = None) -> None:
        """Recompute blocks in the backward pass; not reentrant unless requested.

        A reentrant block whose input needs no gradient, as with a frozen embedding, gives none to its LoRA either.

        Raises:
            UnsupportedModelError: If the encoder has none, as ALBERT.
        """
        if not self.encoder.supports_gradient_checkpointing:
            raise UnsupportedModelError(
                f"{self.encoder.config.model_type!r} of Transformers has no gradient checkpointing; leave it out."
            )
        super().gradient_checkpointing_enable(gradient_checkpointing_kwargs or {"use_reentrant": False})

    def _scores(
        self,
        pooling: str | None,
        attention_mask: Tensor | None,
        output_hidden_states: bool | None,
        read: Mapping[str, Tensor | None] = MappingProxyType({}),
        **inputs: Any,
    ) -> tuple[Any, ModelOutput]:
        """Scores of labels, and the encoder's output; of its states only what the caller requested is left in it.

        `read` are inputs of a head of a kind's own, all others those of the encoder.
        """
        wanted = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        if not self._takes_segments:  # some tokenizers give them to encoders that have none
            inputs["token_type_ids"] = None
        given = {name: value for name, value in inputs.items() if value is not None}
        own_mask = attention_mask
        if "past_key_values" in given:
            own_mask = self._mask_behind_prefix(attention_mask, token_shape(given))
        check_mask(own_mask, token_shape(given))
        outputs = self.encoder(
            attention_mask=attention_mask,
            output_hidden_states=self.needs_hidden_states or wanted,
            return_dict=True,
            **given,
        )
        last = outputs.last_hidden_state
        states: tuple[Tensor, ...] = (last,) * len(self.indices)
        if self.needs_hidden_states:
            check_states(self.config.encoder_config, outputs)
            states = select_states(self.indices, outputs.hidden_states, last)
        scores = self.classifier(*states, attention_mask=own_mask, pooling=pooling, **read)
        if not wanted:
            outputs["hidden_states"] = None
        return scores, outputs

    def _mask_behind_prefix(self, attention_mask: Tensor | None, shape: Any) -> Tensor | None:
        """The mask of the tokens themselves, without that of a prefix before them, which has keys and values only.

        Raises:
            UnsupportedModelError: If the encoder takes no keys and values from outside.
        """
        if "past_key_values" not in inspect.signature(self.encoder.forward).parameters:
            raise UnsupportedModelError(
                f"Prefix tuning hands keys and values to the encoder, and {self.encoder.config.model_type!r} of "
                "Transformers takes none; type lora_config(model) for a LoRA."
            )
        if attention_mask is None or shape is None:
            return attention_mask
        return attention_mask[:, -shape[-1] :]

    def _init_weights(self, module: nn.Module) -> None:
        """Draw weights that no checkpoint has: a fusion's its own way. Its children come first and are overwritten."""
        if isinstance(module, (Fusion, MaskedBatchNorm, BiLSTM, OwnHead)):
            module.reset_parameters()
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=getattr(self.config.encoder_config, "initializer_range", 0.02))
            if module.bias is not None:
                nn.init.zeros_(module.bias)
