"""A language adapter that learns by masked language modelling."""

from collections.abc import Sequence
from typing import Any, ClassVar

from adapters.configuration import AdapterConfig

from dlfa_adapters.heads.masked_lm import MASKED_LM_TYPE, Decoder, MaskedLMHead
from dlfa_adapters.heads.schema import check_head_name
from dlfa_adapters.tuning.base import Defaults, Saved, Tuning, check_left_out
from dlfa_adapters.tuning.bottleneck import check_language_config


class LanguageTuning(Tuning):
    """Adds an adapter for a language, and a decoder; both learn, the encoder does not (MAD-X, arXiv 2005.00052).

    Args:
        language: Name of the adapter, e.g. `de`.
        config: A name of `bottleneck.LANGUAGE_CONFIGS`.
        reduction: The width of the bottlenecks is the encoder's divided by this; 2 in MAD-X.
        leave_out: Blocks that get none, from 1. MAD-X 2.0 (Pfeiffer et al. 2021, arXiv 2012.15562) leaves out the last.
        decoder: The checkpoint's own; None for a new one.

    Raises:
        ConfigError: If the language cannot be the name of an adapter, or an option has a value that cannot work.
    """

    name: ClassVar[str] = "language"
    summary: ClassVar[str] = "a language adapter by masked language modelling"
    defaults: ClassVar[Defaults] = Defaults(learning_rate=5e-4, head_learning_rate=3e-3, epochs=1)
    saved: ClassVar[Saved] = "adapters"

    def __init__(
        self,
        language: str,
        config: str = "seq_bn_inv",
        reduction: float = 2,
        leave_out: Sequence[int] = (),
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__(check_head_name(language, "language adapter"))
        check_language_config(config, reduction)
        self.language, self.config, self.reduction, self.decoder = language, config, reduction, decoder
        self.leave_out = tuple(sorted(set(leave_out)))

    def prepare(self, model: Any, head_name: str) -> Any:
        """Add adapter and decoder, and let them learn.

        Other heads go, such as the one that adapters makes of a checkpoint's decoder: each checkpoint would hold them.

        Raises:
            ConfigError: If there is no such block, or none is left.
        """
        fix = f"type {model.config.num_hidden_layers} to leave out the last, as MAD-X 2.0 does"
        left_out = check_left_out(self.leave_out, model, fix)
        config = AdapterConfig.load(self.config, reduction_factor=self.reduction, leave_out=left_out)
        model.add_adapter(self.language, config=config, overwrite_ok=True)
        for other in list(model.heads):
            model.delete_head(other)
        model.register_custom_head(MASKED_LM_TYPE, MaskedLMHead)
        if self.decoder is None:
            head = MaskedLMHead(model, head_name)
        else:
            head = MaskedLMHead(model, head_name, self.decoder.activation_function, self.decoder.layer_norm_eps)
            head.load_state_dict(self.decoder.weights)
        model.add_prediction_head(head, overwrite_ok=True)
        model.train_adapter(self.language)
        model.active_head = head_name
        return model

    def record(self) -> dict[str, Any]:
        """The adapter's options, and where the decoder comes from."""
        return {
            "config": self.config,
            "reduction": self.reduction,
            "leave_out": list(self.leave_out),
            "decoder": "new" if self.decoder is None else "the checkpoint's",
        }
