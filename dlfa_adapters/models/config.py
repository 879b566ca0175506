"""The configuration of a plain model: that of its encoder, nested, and of the fusion and classifier on top."""

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, PretrainedConfig

from dlfa_adapters._version import __version__
from dlfa_adapters.fusion import FuseLayer
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.tasks import check_id2label
from dlfa_adapters.tasks.head_options import HeadOptions, checked_fuse_layer, split_options

FORMAT = 1
"""Number of the saved format; raised when an older version could not read it."""

WINDOWS = {"max_length": 128, "context": 64}
"""Pieces in a window, and those that it shares with its neighbour."""

_SIZES = ("hidden_size", "num_attention_heads")
"""Sizes of the encoder that the width of PEFT's prompts and prefixes follows from."""

_DROPOUTS = (
    "classifier_dropout",
    "classifier_dropout_prob",
    "seq_classif_dropout",
    "hidden_dropout_prob",
    "dropout",
    "dropout_rate",
)


class DLFAConfig(PretrainedConfig):
    """Configuration of `DLFAForTokenClassification`, `DLFAForSequenceClassification` and `DLFAForDependencyParsing`.

    Args:
        encoder_config: The configuration of the encoder, or its dictionary with `model_type`.
        fuse_layer: A layer 0..L, or several, fused with the last one; None for the fusions that take none.
        windows: How text is cut for a tagger, `max_length` and `context` of `make_windows`; for pipelines.
        classifier_layers: Number of linear maps of the classifier.
        classifier_activation: What stands between them, a name of `transformers.activations.ACT2FN`, or None.
        classifier_bias: Whether the last of them has a bias.
        classifier_dropout: In front of each; the default is the encoder's own.
        task: Name of the task.
        encoder_name: Where the encoder came from: a name on the hub, or a folder.
        dlfa_format: Number of the saved format.
        **kwargs: Options of the head by name, see `HeadOptions`: `fusion` and its options (`gate`, `norm`...),
            `pooling` (a tagger does not use it, it is saved for those who prepare its input; of a text it is the token,
            of the real ones), `classifier`...; those of a head of the kind's own (of a parser: `BiaffineOptions`), for
            which the `classifier_` ones above are not; and `id2label`, `num_labels`, `problem_type` and so on, see
            `PretrainedConfig`.

    Raises:
        ConfigError: If a value cannot work.
        UnsupportedModelError: If the encoder's configuration does not say how deep and wide it is.
        RunError: If it was saved by a later version in another format.
    """

    model_type = "dlfa"
    sub_configs: ClassVar[dict[str, Any]] = {"encoder_config": AutoConfig}
    has_no_defaults_at_init = True

    def __init__(
        self,
        encoder_config: PretrainedConfig | Mapping[str, Any] | None = None,
        fuse_layer: FuseLayer | list[int] | None = None,
        *,
        windows: Mapping[str, int] | None = None,
        classifier_layers: int = 1,
        classifier_activation: str | None = "tanh",
        classifier_bias: bool = True,
        classifier_dropout: float | None = None,
        task: str | None = None,
        encoder_name: str | None = None,
        dlfa_format: int = FORMAT,
        **kwargs: Any,
    ) -> None:
        if dlfa_format > FORMAT:
            raise RunError(
                f"This configuration has format {dlfa_format}, this version of dlfa_adapters reads up to {FORMAT}; "
                "type: pip install -U dlfa-adapters."
            )
        nested = _encoder_config(encoder_config)
        num_layers, _ = encoder_size(nested)
        if isinstance(classifier_layers, bool) or not isinstance(classifier_layers, int) or classifier_layers < 1:
            raise ConfigError(f"classifier_layers must be a whole number from 1 up, got {classifier_layers!r}.")
        own, kwargs = split_options(kwargs)
        layers = checked_fuse_layer(own.get("fusion", "dlfa"), fuse_layer, num_layers)
        head = HeadOptions().changed(**own, fuse_layer=layers)
        if kwargs.get("id2label") is not None:
            kwargs["id2label"] = check_id2label(kwargs["id2label"])
            kwargs["label2id"] = {name: id_ for id_, name in kwargs["id2label"].items()}
        for derived in ("dlfa_version", *_SIZES):
            kwargs.pop(derived, None)
        kwargs.setdefault("pad_token_id", nested.pad_token_id)
        attention = kwargs.get("attn_implementation")
        super().__init__(**kwargs)
        self.encoder_config = nested  # after super().__init__, which sets the attention of nested ones, to None too
        if attention is not None:
            self._attn_implementation = attention
        for name, value in {**head.keywords(), "fuse_layer": list(layers) or None}.items():
            setattr(self, name, value)
        self.windows = dict(windows or WINDOWS)
        self.classifier_layers, self.classifier_activation = classifier_layers, classifier_activation
        self.classifier_bias = classifier_bias
        self.classifier_dropout = _dropout(nested) if classifier_dropout is None else classifier_dropout
        self.task, self.encoder_name = task, encoder_name
        self.dlfa_format, self.dlfa_version = FORMAT, __version__

    @property
    def head(self) -> HeadOptions:
        """Its fusion, and what stands on it."""
        return HeadOptions().changed(**{name: getattr(self, name) for name in HeadOptions.known(self.fusion)})

    def to_dict(self) -> dict[str, Any]:
        """All options; and, for PEFT, which looks there for them, the encoder's sizes."""
        return {**super().to_dict(), **{name: getattr(self, name) for name in _SIZES}}

    def to_diff_dict(self) -> dict[str, Any]:
        """What is saved: without what follows from the encoder's configuration."""
        return {name: value for name, value in super().to_diff_dict().items() if name not in _SIZES}

    @property
    def hidden_size(self) -> int:
        """Width E of the encoder."""
        return encoder_size(self.encoder_config)[1]

    @property
    def num_hidden_layers(self) -> int:
        """Number of blocks L of the encoder."""
        return encoder_size(self.encoder_config)[0]

    @property
    def num_attention_heads(self) -> int:
        """Number of attention heads of a block of the encoder."""
        return int(self.encoder_config.num_attention_heads)

    @property
    def vocab_size(self) -> int:
        """Number of pieces that the encoder has embeddings of."""
        return int(self.encoder_config.vocab_size)

    @vocab_size.setter
    def vocab_size(self, size: int) -> None:
        self.encoder_config.vocab_size = size


def encoder_size(config: Any) -> tuple[int, int]:
    """Number of blocks L and width E of an encoder.

    Raises:
        UnsupportedModelError: If the configuration does not say.
    """
    try:
        return int(config.num_hidden_layers), int(config.hidden_size)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        raise UnsupportedModelError(
            f"The configuration of {config.model_type} does not give one number of layers and one width "
            "(num_hidden_layers, hidden_size); give a text encoder such as bert-base-multilingual-cased."
        ) from None


def _encoder_config(config: PretrainedConfig | Mapping[str, Any] | None) -> Any:
    if config is None:
        raise ConfigError(
            "DLFAConfig needs the configuration of an encoder, and got none: a bare encoder has no DLFA configuration; "
            "type DLFAForTokenClassification.from_encoder(folder, task='ner')."
        )
    if isinstance(config, PretrainedConfig):
        return config
    options = dict(config)
    model_type = options.pop("model_type", None)
    try:
        return AutoConfig.for_model(model_type, **options)
    except ValueError as error:
        raise UnsupportedModelError(f"Transformers knows no encoder of type {model_type!r}.") from error


def _dropout(encoder_config: Any) -> float:
    """The dropout in front of the encoder's own classifiers, or failing that in its blocks.

    Read from the dictionary: `adapters` adds aliases to configuration classes, so that an attribute depends on whether
    it was imported.
    """
    options = encoder_config.to_dict()
    return float(next((options[name] for name in _DROPOUTS if options.get(name) is not None), 0.0))
