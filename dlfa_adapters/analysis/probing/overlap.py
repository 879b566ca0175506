r"""Whether the best heads of two rankings are the same, and in the same order.

"Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training", its Table 4:

$$\mathrm{Ovlp} = |\mathrm{TopK}(a) \cap \mathrm{TopK}(b)|$$

and Corr, Spearman's rho of the scores of the heads in that intersection. Ranks are those inside the intersection. Of
heads with the same score the one in the lower layer comes first, and in a layer the first one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dlfa_adapters.analysis.correlation import spearman
from dlfa_adapters.ground.errors import ConfigError

PAPERS_TOP = (40, 60, 80)
"""K of the paper, of 144 heads."""


@dataclass(frozen=True, kw_only=True)
class TopOverlap:
    """The best K heads of two rankings.

    Attributes:
        a: The first one.
        b: The second one.
        k: How many heads.
        overlap: How many are in both.
        chance: How many would be if the rankings had nothing to do with each other: K² / heads.
        rho: Spearman's rho over those in both; None where there are fewer than three, or all have one score.
        p_value: Two-sided, of "there is no correlation".
    """

    a: str
    b: str
    k: int
    overlap: int
    chance: float
    rho: float | None
    p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def default_top(heads: int) -> tuple[int, ...]:
    """The share of the heads that the paper looks at, of encoders with another number of heads than its 144."""
    return tuple(dict.fromkeys(max(1, round(k * heads / 144)) for k in PAPERS_TOP))


def order_of(scores: np.ndarray) -> np.ndarray:
    """Heads from the best to the worst, as (layer - 1) * H + head - 1; (layers * heads,)."""
    return np.argsort(-scores.ravel(), kind="stable")


def check_top(top: Sequence[int], heads: int) -> None:
    """Refuse what K cannot be.

    Raises:
        ConfigError: If K is not from 1 to the number of heads.
    """
    if wrong := [k for k in top if not 1 <= k <= heads]:
        raise ConfigError(
            f"Expected K from 1 to {heads}, the number of heads, got {wrong[0]}; type --top {heads // 2}."
        )


def top_overlap(scores: Mapping[str, np.ndarray], top: Sequence[int] = ()) -> list[TopOverlap]:
    """Every two rankings, at every K.

    Args:
        scores: By name, (layers, heads).
        top: What K is; default: `default_top`.

    Raises:
        ConfigError: If K is not from 1 to the number of heads, or encoders have not as many layers and heads.
    """
    shapes = {name: each.shape for name, each in scores.items()}
    if len(set(shapes.values())) > 1:
        told = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in shapes.items())
        raise ConfigError(f"Expected rankings of as many layers x heads, got {told}; compare models of one encoder.")
    heads = int(np.prod(next(iter(shapes.values()), (0,))))
    check_top(top, heads)
    found = []
    for a, b in combinations(scores, 2):
        for k in top or default_top(heads):
            both = sorted(set(order_of(scores[a])[:k].tolist()) & set(order_of(scores[b])[:k].tolist()))
            rho, p = spearman(*(scores[name].ravel()[both].tolist() for name in (a, b)))
            found.append(TopOverlap(a=a, b=b, k=k, overlap=len(both), chance=k * k / heads, rho=rho, p_value=p))
    return found
