"""Layer fusion (DLFA) heads for zero-shot cross-lingual transfer."""

from dlfa_adapters._version import __version__

__all__ = ["__version__"]
