"""At which rank the right one stands among all vectors of the other side, by cosine and by CSLS: exact, in blocks.

The matrix of all cosines is never there: a block of it is computed, looked at, and dropped. The first pass over the
blocks finds the nearest neighbours that CSLS needs, the second counts what is at least as near as the right one.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from dlfa_adapters.ground.errors import ConfigError, DataError

SCORES = ("cosine", "csls")
NEIGHBOURS = 10
"""Of CSLS, as in Conneau et al. 2018."""

_BLOCK = 4096  # vectors of a side whose cosines are in memory at once: 64 MB
_EQUAL = 1e-6  # cosines of equal vectors differ by less than this where they come from blocks of other sizes


def neighbour_ranks(
    first: Tensor,
    second: Tensor,
    pairs: Tensor,
    *,
    neighbours: int = NEIGHBOURS,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, Tensor]:
    """The rank of the right one, from both sides, among all vectors of the other side.

    `cosine` orders by cos(x, y). `csls` orders by CSLS(x, y) = 2 cos(x, y) - r(x) - r(y), where r(x) is the mean cosine
    of x with its nearest y, and r(y) that of y with its nearest x (Conneau et al. 2018, "Word translation without
    parallel data", arXiv 1710.04087, Equation 3): what is near to everything is moved away.

    Args:
        first: Vectors x, (items, width), on the device that computes.
        second: Vectors y, (candidates, width), likewise.
        pairs: What belongs together, (pairs, 2): a row of `first` and one of `second`. A row may be in several pairs.
        neighbours: How many nearest ones r is the mean of; all, where there are fewer.
        on_progress: Called with the number of blocks that were just done, of `blocks_of(first, second)`.

    Returns:
        For each of `SCORES` the ranks, (pairs, 2), from 1: of y among all y for its x, and of x among all x for its y.
        Of several that are equally near, the right one counts as the last.

    Raises:
        ConfigError: If `neighbours` is smaller than one.
        DataError: If the vectors are not of one width, or a pair names none of them.
    """
    _check(first, second, pairs, neighbours)
    x, y = (torch.nn.functional.normalize(side.float(), dim=1) for side in (first, second))
    step = on_progress or (lambda done: None)
    near_x, near_y = _nearest(x, y, neighbours, step)
    one, other = pairs.T.to(x.device)
    own = (x[one] * y[other]).sum(1)
    # Halved, and without what is the same for all of those that are ordered.
    hubs = {"cosine": (None, None), "csls": (near_x / 2, near_y / 2)}
    least = {
        "cosine": (own - _EQUAL, own - _EQUAL),
        "csls": (own - near_y[other] / 2 - _EQUAL, own - near_x[one] / 2 - _EQUAL),
    }
    ranks = {score: torch.zeros_like(pairs, device=x.device) for score in SCORES}
    for rows, columns in _blocks(len(x), len(y)):
        cosines = x[rows] @ y[columns].T
        of_rows, of_columns = (_within(side, part) for side, part in ((one, rows), (other, columns)))
        for score, (hub_x, hub_y) in hubs.items():
            forward = cosines if hub_y is None else cosines - hub_y[columns]
            backward = cosines if hub_x is None else cosines - hub_x[rows, None]
            for side, block, numbers, places in (
                (0, forward, of_rows, one - rows.start),
                (1, backward, of_columns, other - columns.start),
            ):
                ranks[score][numbers, side] += _at_least(block, side, places[numbers], least[score][side][numbers])
        step(1)
    return {score: counted.cpu() for score, counted in ranks.items()}


def blocks_of(first: Tensor, second: Tensor) -> int:
    """How many blocks `neighbour_ranks` goes through: all of them twice."""
    return 2 * sum(1 for _ in _blocks(len(first), len(second)))


def _check(first: Tensor, second: Tensor, pairs: Tensor, neighbours: int) -> None:
    if neighbours < 1:
        raise ConfigError(f"expected one neighbour or more for CSLS, got {neighbours}; type neighbours={NEIGHBOURS}.")
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        shapes = f"{tuple(first.shape)} and {tuple(second.shape)}"
        raise DataError(f"expected vectors of two sides, (items, width) each and of one width, got {shapes}")
    sizes = torch.tensor([len(first), len(second)], device=pairs.device)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not ((pairs >= 0) & (pairs < sizes)).all():
        raise DataError(f"expected pairs of rows of the {len(first)} and {len(second)} vectors, got {pairs}")


def _nearest(x: Tensor, y: Tensor, neighbours: int, step: Callable[[int], None]) -> tuple[Tensor, Tensor]:
    """The mean cosine of each with its nearest ones of the other side: (items,) and (candidates,)."""
    best = [
        torch.full((len(own), min(neighbours, len(other))), -torch.inf, device=x.device)
        for own, other in ((x, y), (y, x))
    ]
    for rows, columns in _blocks(len(x), len(y)):
        cosines = x[rows] @ y[columns].T
        for side, part in ((0, rows), (1, columns)):
            kept = best[side][part]
            changed = (cosines.amax(1 - side) > kept[:, -1]).nonzero().squeeze(1)
            block = cosines.index_select(side, changed)
            nearest = (block.T if side else block).contiguous().topk(min(kept.shape[1], block.shape[1 - side])).values
            kept[changed] = torch.cat([kept[changed], nearest], dim=1).topk(kept.shape[1]).values
        step(1)
    return best[0].mean(1), best[1].mean(1)


def _at_least(block: Tensor, side: int, places: Tensor, least: Tensor) -> Tensor:
    """How many values of some rows (side 0) or columns (1) of a block are not smaller than a number; (places,)."""
    counts = torch.zeros_like(places)
    reached = (block.amax(1 - side)[places] >= least).nonzero().squeeze(1)
    found = block.index_select(side, places[reached]) >= least[reached].unsqueeze(1 - side)
    counts[reached] = found.view(torch.uint8).sum(1 - side)  # twice as fast as the sum of booleans
    return counts


def _within(places: Tensor, part: slice) -> Tensor:
    """Numbers of the pairs whose place is in a part; (pairs in it,)."""
    return ((places >= part.start) & (places < part.stop)).nonzero().squeeze(1)


def _blocks(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    for row in range(0, rows, _BLOCK):
        for column in range(0, columns, _BLOCK):
            yield slice(row, min(row + _BLOCK, rows)), slice(column, min(column + _BLOCK, columns))
