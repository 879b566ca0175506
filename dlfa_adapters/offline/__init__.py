"""An encoder and sample corpora that need no hub."""

from typing import TYPE_CHECKING

from dlfa_adapters.ground.lazy import lazily

if TYPE_CHECKING:
    from dlfa_adapters.offline.encoder import OfflineEncoder, find_offline_encoder, load_offline_encoder

__all__ = ["OfflineEncoder", "find_offline_encoder", "load_offline_encoder"]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, "encoder"))
