"""What heads and models ask of parsing: the biaffine head, its inputs, and what its loss counts."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.kinds.head import KindOfHead
from dlfa_adapters.kinds.parsing.options import BiaffineOptions

if TYPE_CHECKING:
    from dlfa_adapters.kinds.parsing.biaffine import Biaffine


class HeadOfParsing(KindOfHead):
    """The part of the kind that has to do with heads and models."""

    pipeline, peft_task = "dependency-parsing", "TOKEN_CLS"  # with which PEFT trains and saves the whole classifier
    auto_class, plain_class = "AutoModelForDependencyParsing", "DLFAForDependencyParsing"
    head_types = ("biaffine",)
    own_heads = MappingProxyType({"biaffine": BiaffineOptions})
    head_inputs = ("word_ids", "word_mask", "upos_ids")
    plain_heads = MappingProxyType({"biaffine": None})
    label_inputs = ("labels_arcs", "labels_rels")

    def usage(self, name: str) -> str:
        """See `Kind`."""
        return f'parser = pipeline("{self.pipeline}", model="{name}")'

    def make_head(self, head_type: str, width: int, num_labels: int, options: Any) -> "Biaffine":
        """See `biaffine.Biaffine`."""
        from dlfa_adapters.kinds.parsing.biaffine import Biaffine

        return Biaffine(width, num_labels, options)

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Words whose head is learned."""
        from dlfa_adapters.data.batching import IGNORED

        return (labels != IGNORED).sum()
