"""What heads and models ask of parsing: the biaffine head, its inputs, and what its loss counts."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.kinds.head import KindOfHead
from dlfa_adapters.kinds.parsing.options import BiaffineOptions

if TYPE_CHECKING:
    from dlfa_adapters.kinds.parsing.biaffine import Biaffine


class HeadOfParsing(KindOfHead):
    """The part of the kind that has to do with heads and models."""

    plain_class = "DLFAForDependencyParsing"
    head_types = ("biaffine",)
    own_heads = MappingProxyType({"biaffine": BiaffineOptions})
    head_inputs = ("word_ids", "word_mask", "upos_ids")
    plain_heads = MappingProxyType({"biaffine": None})
    label_inputs = ("labels_arcs", "labels_rels")

    def make_head(self, head_type: str, width: int, num_labels: int, options: Any) -> "Biaffine":
        """See `biaffine.Biaffine`."""
        from dlfa_adapters.kinds.parsing.biaffine import Biaffine

        return Biaffine(width, num_labels, options)

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Words whose head is learned."""
        from dlfa_adapters.data.batching import IGNORED

        return (labels != IGNORED).sum()
