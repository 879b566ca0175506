"""Options of the biaffine head, and of what a parser reads; nothing here needs PyTorch."""

from dataclasses import dataclass, field, replace
from typing import Any

from dlfa_adapters.fusion.options import A_RUN_UNLESS
from dlfa_adapters.ground.errors import ConfigError

ARC_SIZE, REL_SIZE = 500, 100
"""Widths of Dozat and Manning 2017, Table 1, on states of width 800."""


@dataclass(frozen=True, kw_only=True)
class BiaffineOptions:
    """Options of the biaffine head (Dozat and Manning 2017, arXiv 1611.01734).

    Attributes:
        arc_size: Width of what heads are scored with. Default: theirs, 500, or the width of the states if that is less.
        rel_size: Width of what relations are scored with. Default: theirs, 100, or the width of the states likewise.
        mlp_dropout: Dropout behind the maps to these widths, the same units for all words of a sentence.
        upos_size: Width of an embedding of each word's part of speech, put beside its state; 0: none is read.
    """

    arc_size: int | None = None
    rel_size: int | None = None
    mlp_dropout: float = 0.33
    upos_size: int = 0

    def on(self, width: int) -> "BiaffineOptions":
        """The same with sizes for states of a width.

        Raises:
            ValueError: If a value cannot work.
        """
        arc = min(ARC_SIZE, width) if self.arc_size is None else self.arc_size
        rel = min(REL_SIZE, width) if self.rel_size is None else self.rel_size
        for name, value, least in (("arc_size", arc, 1), ("rel_size", rel, 1), ("upos_size", self.upos_size, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number from {least} up, got {value!r}.")
        if isinstance(self.mlp_dropout, bool) or not 0 <= self.mlp_dropout < 1:
            raise ValueError(f"mlp_dropout must lie in 0..1, 1 left out, got {self.mlp_dropout!r}.")
        return replace(self, arc_size=arc, rel_size=rel)


GOLD = "gold"
UPOS_SIZE = 100
"""Width of the embedding of a part of speech, as Dozat and Manning 2017, Table 1, have it."""


@dataclass(frozen=True, kw_only=True)
class ParserOptions:
    """What a parser reads besides words.

    Attributes:
        upos: Parsing: also read each word's part of speech, `gold` that of the data, or as a run of a tagger says it.
    """

    upos: str | None = field(default=None, metadata={A_RUN_UNLESS: (GOLD,)})


def with_upos(head: dict[str, Any], own: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the head and of the parser of which one alone says that parts of speech are read.

    Raises:
        ConfigError: If they say different things.
    """
    if own.get("upos") is None:
        return head, {**own, "upos": GOLD} if head.get("upos_size") else own
    if head.get("upos_size", UPOS_SIZE) == 0:
        raise ConfigError("upos_size=0 reads no parts of speech, and upos says which; leave one of the two out.")
    return {"upos_size": UPOS_SIZE, **head}, own
