"""What heads and models ask of parsing: the biaffine head, its inputs, and what its loss counts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dlfa_adapters.kinds.head import KindOfHead
from dlfa_adapters.kinds.parsing.options import BiaffineOptions, ParserOptions, with_upos

if TYPE_CHECKING:
    from dlfa_adapters.kinds.parsing.biaffine import Biaffine
    from dlfa_adapters.kinds.parsing.onnx_form import ParserForm

ROOT = "root"
"""The relation of the one word of a sentence that has no head."""

RATES_ON_STATES = (3e-4, 1e-3, 3e-3, 1e-2)
"""Lower ones than a linear classifier's: scores are products of two layers that learn, and Dozat and Manning 2017 learn
theirs at 2e-3. All twelve trainings of docs/results/parsing.md that could choose among these took 3e-3, which is the
lowest of what is tried for linear classifiers."""


class HeadOfParsing(KindOfHead):
    """The part of the kind that has to do with heads and models."""

    pipeline, peft_task = "dependency-parsing", "TOKEN_CLS"  # with which PEFT trains and saves the whole classifier
    auto_class, plain_class = "AutoModelForDependencyParsing", "DLFAForDependencyParsing"
    head_types = ("biaffine",)
    own_heads = MappingProxyType({"biaffine": BiaffineOptions})
    rates_on_states = RATES_ON_STATES
    options = ParserOptions
    head_inputs = ("word_ids", "word_mask", "upos_ids")
    plain_heads = MappingProxyType({"biaffine": None})
    label_inputs = ("labels_arcs", "labels_rels")

    def usage(self, name: str) -> str:
        """See `Kind`."""
        return f'parser = pipeline("{self.pipeline}", model="{name}")'

    def split_options(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `options.with_upos`."""
        return with_upos(*super().split_options(given))

    def make_head(self, head_type: str, width: int, num_labels: int, options: Any) -> "Biaffine":
        """See `biaffine.Biaffine`."""
        from dlfa_adapters.kinds.parsing.biaffine import Biaffine

        return Biaffine(width, num_labels, options)

    def onnx_form(self, config: Mapping[str, Any], labels: Sequence[str]) -> "ParserForm":
        """See `onnx_form.ParserForm`."""
        from dlfa_adapters.kinds.parsing.onnx_form import ParserForm

        return ParserForm(list(labels).index(ROOT), reads_upos=bool(config["upos_size"]))

    def onnx_sources(self) -> dict[str, Path]:
        """See `KindOfHead`; with what makes trees of scores."""
        here = Path(__file__).parent
        parts = {name: here / f"{name}.py" for name in ("assemble", "decode")}
        return {**super().onnx_sources(), **parts, "trees": here.parents[1] / "data" / "trees.py"}

    def items_in_loss(self, head_type: str, num_labels: int, labels: Any, mask: Any) -> Any:
        """Words whose head is learned."""
        from dlfa_adapters.data.batching import IGNORED

        return (labels != IGNORED).sum()
