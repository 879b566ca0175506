"""The model classes: those of adapters, by the same names, with DLFA heads.

All encoders of adapters whose hidden states have one width. Left out are decoders and encoder-decoders (GPT-2, GPT-J,
LLaMA, Mistral; BART, mBART, PLBART, T5, mT5: the first token of a decoder sees nothing but itself) and models of other
input than text (ViT, BEiT, CLIP, Whisper). mT5's encoder alone is in `dlfa_adapters.models`.
"""

from typing import Any, TypeVar

import adapters
from adapters import AutoAdapterModel

from dlfa_adapters.ground.errors import UnsupportedModelError
from dlfa_adapters.heads.head import DLFAHead
from dlfa_adapters.heads.mixin import DLFAHeadsMixin
from dlfa_adapters.heads.schema import HEAD_TYPE


class AlbertAdapterModel(DLFAHeadsMixin, adapters.AlbertAdapterModel):
    """ALBERT."""


class BertAdapterModel(DLFAHeadsMixin, adapters.BertAdapterModel):
    """BERT."""


class BertGenerationAdapterModel(DLFAHeadsMixin, adapters.BertGenerationAdapterModel):
    """BERT for generation, used as an encoder. Upstream has only language-model heads for it."""


class DebertaAdapterModel(DLFAHeadsMixin, adapters.DebertaAdapterModel):
    """DeBERTa."""


class DebertaV2AdapterModel(DLFAHeadsMixin, adapters.DebertaV2AdapterModel):
    """DeBERTa-v2 and v3, mDeBERTa."""


class DistilBertAdapterModel(DLFAHeadsMixin, adapters.DistilBertAdapterModel):
    """DistilBERT."""


class ElectraAdapterModel(DLFAHeadsMixin, adapters.ElectraAdapterModel):
    """ELECTRA."""


class RobertaAdapterModel(DLFAHeadsMixin, adapters.RobertaAdapterModel):
    """RoBERTa."""


class XLMRobertaAdapterModel(DLFAHeadsMixin, adapters.XLMRobertaAdapterModel):
    """XLM-RoBERTa."""


class XmodAdapterModel(DLFAHeadsMixin, adapters.XmodAdapterModel):
    """X-MOD."""


MODELS: tuple[type[DLFAHeadsMixin], ...] = (
    AlbertAdapterModel,
    BertAdapterModel,
    BertGenerationAdapterModel,
    DebertaAdapterModel,
    DebertaV2AdapterModel,
    DistilBertAdapterModel,
    ElectraAdapterModel,
    RobertaAdapterModel,
    XLMRobertaAdapterModel,
    XmodAdapterModel,
)


AnyModel = TypeVar("AnyModel")


def register() -> None:
    """Let `AutoAdapterModel` build our classes. Runs on `import dlfa_adapters`; a second time changes nothing."""
    for cls in MODELS:
        AutoAdapterModel.register(cls.config_class, cls, exist_ok=True)  # type: ignore[attr-defined]


def enable(model: AnyModel) -> AnyModel:
    """Give a model of adapters that exists already `add_dlfa_head`, in place.

    Args:
        model: An instance of one of upstream's classes, e.g. `adapters.BertAdapterModel`.

    Returns:
        The same model.

    Raises:
        UnsupportedModelError: If it is an instance of no class that a DLFA head can be put on.
    """
    instance: Any = model
    if isinstance(model, DLFAHeadsMixin):
        return model
    for cls in MODELS:
        if type(model) is cls.__bases__[1]:
            instance.__class__ = cls
            instance.custom_heads = {**instance.custom_heads, HEAD_TYPE: DLFAHead}
            if instance._active_heads:
                instance._follow_active_head()
            return model
    raise UnsupportedModelError(
        f"A DLFA head can be put on {', '.join(cls.__name__ for cls in MODELS)} of adapters, got "
        f"{type(model).__module__}.{type(model).__name__}; type model = AutoAdapterModel.from_pretrained(...)."
    )
