"""Encoders: loaded by name, what they are, and their hidden states, computed and cached."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.environment import lazily

if TYPE_CHECKING:
    from dlfa_adapters.encoders.load import Encoder, load_encoder, load_tokenizer
    from dlfa_adapters.encoders.means import LanguageMeans
    from dlfa_adapters.encoders.offline import OfflineEncoder, find_offline_encoder, load_offline_encoder
    from dlfa_adapters.encoders.parts import fingerprint
    from dlfa_adapters.encoders.shift import shift_language

__all__ = [
    "Encoder",
    "LanguageMeans",
    "OfflineEncoder",
    "find_offline_encoder",
    "fingerprint",
    "load_encoder",
    "load_offline_encoder",
    "load_tokenizer",
    "shift_language",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Encoder", "load_encoder", "load_tokenizer"), "load"),
        **dict.fromkeys(("OfflineEncoder", "find_offline_encoder", "load_offline_encoder"), "offline"),
        "LanguageMeans": "means",
        "fingerprint": "parts",
        "shift_language": "shift",
    },
)
