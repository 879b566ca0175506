"""Dependency parsing: a head and a relation for each word, a tree for each sentence (Dozat and Manning 2017)."""

from dlfa_adapters.kinds.parsing.kind import Parsing

__all__ = ["Parsing"]
