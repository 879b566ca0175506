"""An encoder and sample corpora that need no hub."""

from dlfa_adapters.offline.encoder import OfflineEncoder, find_offline_encoder, load_offline_encoder

__all__ = ["OfflineEncoder", "find_offline_encoder", "load_offline_encoder"]
