"""The model classes: those of adapters, by the same names, with DLFA heads.

All encoders of adapters whose hidden states have one width. Left out are decoders and encoder-decoders (GPT-2, GPT-J,
LLaMA, Mistral; BART, mBART, PLBART, T5, mT5: the first token of a decoder sees nothing but itself) and models of other
input than text (ViT, BEiT, CLIP, Whisper). mT5's encoder alone is in `dlfa_adapters.models`.
"""

import adapters

from dlfa_adapters.heads.mixin import DLFAHeadsMixin


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
