"""What an ONNX file has of a parser: scores of arcs, and the best relation for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.kinds.onnx_form import OnnxForm
from dlfa_adapters.kinds.parsing.biaffine import best_relations
from dlfa_adapters.tasks import POS


class ParserForm(OnnxForm):
    """The form of parsers. Scores of relations stay inside: they are as many as arcs times relations."""

    outputs = ("arcs", "relations")

    def __init__(self, root: int, reads_upos: bool) -> None:
        super().__init__(by_piece=False)
        self.root = root
        self.inputs = ("word_ids", "word_mask", *(["upos_ids"] if reads_upos else []))
        self.about = {"upos": list(POS.labels)} if reads_upos else {}

    def axes(self) -> dict[str, dict[int, str]]:
        """See `OnnxForm`."""
        words = {name: {0: "batch", 1: "words"} for name in ("word_mask", "upos_ids")}
        scores = {name: {0: "batch", 1: "words", 2: "heads"} for name in self.outputs}
        return {"word_ids": {0: "batch", 1: "length"}, **words, **scores}

    def draw(self, mask: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        """Words of one piece or two, and the first and last piece of a row of no word where it has more than two."""
        word_ids = torch.zeros_like(mask)
        for row, length in zip(word_ids, mask.sum(1).tolist(), strict=True):
            first, last = (1, length - 1) if length > 2 else (0, length)
            starts = torch.randint(0, 2, (last - first,), generator=generator)
            starts[:1] = 1
            row[first:last] = starts.cumsum(0)
        counts = word_ids.amax(1)
        words = (torch.arange(int(counts.max())) < counts[:, None]).long()
        upos = torch.randint(0, 1 + len(POS.labels), words.shape, generator=generator) * words
        return {name: {"word_ids": word_ids, "word_mask": words, "upos_ids": upos}[name] for name in self.inputs}

    def reduce(self, logits: Any) -> tuple[Tensor, ...]:
        """See `OnnxForm`."""
        arcs, rels = logits
        return arcs, best_relations(rels, self.root)

    def difference(self, found: Sequence[Tensor], logits: Any, given: Mapping[str, Tensor]) -> float:
        """Of arcs the largest difference; of relations how much worse than the best one the model thinks them."""
        arcs, rels = logits
        hidden = arcs == -torch.inf
        if not torch.equal(found[0] == -torch.inf, hidden):
            return float("inf")
        real = given["word_mask"] == 1
        apart = (found[0] - arcs).masked_fill(hidden, 0.0).abs()[real]
        best = rels.gather(3, best_relations(rels, self.root)[..., None])
        behind = (best - rels.gather(3, found[1][..., None]))[..., 0].masked_fill(hidden, 0.0).abs()[real]
        return float(torch.maximum(apart, behind).max())
