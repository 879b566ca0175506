"""How alike vectors of sentences and of their translations are: cosine, against what, and who is nearest."""

import torch
from torch import Tensor

from dlfa_adapters.ground.errors import DataError

MEASURES = ("cosine", "others", "gap", "forward", "backward", "retrieval")
"""`cosine`: of sentence and translation; `others`: of a sentence and the translations of the other sentences; `gap`:
the first minus the second; `forward`: whether the nearest translation of a sentence is its own; `backward`: the same
from the translations; `retrieval`: the mean of the two."""

_BLOCK = 1024  # sentences whose cosines with all translations are in memory at once


def similarities(first: Tensor, second: Tensor) -> Tensor:
    """Every measure of every pair.

    The mean of `cosine` is that of Chen et al. 2022, arXiv 2205.08497, Table VI. All states of a layer may lie in a
    narrow cone (Ethayarajh 2019, "How Contextual are Contextualized Word Representations?", arXiv 1909.00512), where
    any two sentences have a high cosine; hence `others`, over all pairs that are no translations. The share of nearest
    translations is how Artetxe and Schwenk 2019, arXiv 1812.10464, score Tatoeba.

    Args:
        first: Vectors of the sentences, (pairs, width).
        second: Vectors of their translations, likewise.

    Returns:
        (pairs, measures), in the order of `MEASURES`.

    Raises:
        DataError: If there are not as many of both, or fewer than two.
    """
    if len(first) != len(second) or len(first) < 2:
        raise DataError(
            f"expected two or more sentences, each with its translation; got {len(first)} and {len(second)}"
        )
    first, second = (torch.nn.functional.normalize(side, dim=1) for side in (first, second))
    own, others, forward = _towards(first, second)
    _, others_back, backward = _towards(second, first)
    others = (others + others_back) / 2
    return torch.stack([own, others, own - others, forward, backward, (forward + backward) / 2], dim=1)


def _towards(first: Tensor, second: Tensor) -> Tensor:
    """Cosine with one's own, mean cosine with all others, and 1 where one's own is the nearest: (3, pairs)."""
    parts = []
    for start in range(0, len(first), _BLOCK):
        cosines = first[start : start + _BLOCK] @ second.T
        places = torch.arange(start, start + len(cosines))
        own = cosines.gather(1, places.unsqueeze(1)).squeeze(1)
        others = (cosines.sum(1) - own) / (len(second) - 1)
        parts.append(torch.stack([own, others, (cosines.argmax(1) == places).to(own.dtype)]))
    return torch.cat(parts, dim=1)
