"""Ranks among neighbours: by hand, against a plain loop in float64, and the same whatever the size of the blocks."""

import numpy as np
import pytest
import torch

from dlfa_adapters.analysis.retrieval import neighbours
from dlfa_adapters.analysis.retrieval.neighbours import blocks_of, neighbour_ranks
from dlfa_adapters.ground.errors import ConfigError, DataError


def own_pairs(items):
    return torch.arange(items).repeat(2, 1).T


def by_loops(first, second, pairs, k):
    """Ranks from the definition, one pair after the other; no two values may be equal."""
    x, y = (side.double().numpy() for side in (first, second))
    cosines = np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in y] for a in x])
    near_x = [np.mean(sorted(row)[-k:]) for row in cosines]
    near_y = [np.mean(sorted(column)[-k:]) for column in cosines.T]
    csls = np.array([[2 * cosines[i, j] - near_x[i] - near_y[j] for j in range(len(y))] for i in range(len(x))])
    return {
        name: [[sorted(-s[i]).index(-s[i, j]) + 1, sorted(-s[:, j]).index(-s[i, j]) + 1] for i, j in pairs.tolist()]
        for name, s in (("cosine", cosines), ("csls", csls))
    }


def test_by_hand():
    first = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])  # (1, 0), (0, 1), (0.6, 0.8)
    second = torch.tensor([[4.0, 3.0], [0.0, 1.0], [5.0, 0.0]])  # (0.8, 0.6), (0, 1), (1, 0)
    # Cosines, a row an x:      0.8 0 1 / 0.6 1 0 / 0.96 0.8 0.6
    # With one neighbour, r(x): 1, 1, 0.96 and r(y): 0.96, 1, 1, so that CSLS is
    #   1.6 - 1.96     0 - 2       2 - 2          -0.36 -2    0
    #   1.2 - 1.96     2 - 2       0 - 2       =  -0.76  0   -2
    #   1.92 - 1.92    1.6 - 1.96  1.2 - 1.96      0    -0.36 -0.76
    found = neighbour_ranks(first, second, own_pairs(3), neighbours=1)
    assert found["cosine"].tolist() == [[2, 2], [1, 1], [3, 2]]
    assert found["csls"].tolist() == [[2, 2], [1, 1], [3, 2]]
    # The mean over two: r(x) 0.9, 0.8, 0.88 and r(y) 0.88, 0.9, 0.8; for x1, CSLS -0.18 -1.8 0.3.
    assert neighbour_ranks(first, second, own_pairs(3), neighbours=2)["csls"][0, 0] == 2


def test_csls_moves_away_what_is_near_to_everything():
    """The first y is the nearest of both x, so by cosine the second x never finds its own."""
    first = torch.tensor([[1.0, 0.0], [0.8, 0.6]])
    second = torch.tensor([[0.9, 0.4359], [0.28, 0.96]])  # cosines 0.9 0.28 / 0.98154 0.8
    found = neighbour_ranks(first, second, own_pairs(2), neighbours=2)
    # r(x): 0.59, 0.89077; r(y): 0.94077, 0.54. CSLS of the second x: 0.13154 and 0.16923.
    assert found["cosine"][:, 0].tolist() == [1, 2]
    assert found["csls"][:, 0].tolist() == [1, 1]


@pytest.mark.parametrize("block", [1, 3, 5, 4096])
@pytest.mark.parametrize("k", [1, 4, 10, 50])
def test_the_same_as_loops_whatever_the_blocks(monkeypatch, block, k):
    monkeypatch.setattr(neighbours, "_BLOCK", block)
    random = torch.Generator().manual_seed(3)
    first = torch.randn(11, 5, generator=random) + 1
    second = 3 * torch.randn(14, 5, generator=random) + 1
    second[:11] += 2 * first
    pairs = torch.tensor([[i, i] for i in range(11)] + [[2, 13], [2, 7], [0, 12], [10, 12]])  # several translations
    expected = by_loops(first, second, pairs, k)
    done = []
    found = neighbour_ranks(first, second, pairs, neighbours=k, on_progress=done.append)
    assert {name: ranks.tolist() for name, ranks in found.items()} == expected
    assert sum(done) == blocks_of(first, second) == 2 * -(-11 // block) * -(-14 // block)
    assert found["cosine"][:, 0].tolist() != found["csls"][:, 0].tolist()  # the data tell the two apart
    assert found["csls"][:, 0].tolist() != found["csls"][:, 1].tolist()


def test_the_right_one_is_the_last_of_equals(monkeypatch):
    """Where a model gives everything one vector, nothing is found; also across blocks."""
    random = torch.Generator().manual_seed(0)
    one = torch.randn(1, 300, generator=random)
    for block in (2, 4096):
        monkeypatch.setattr(neighbours, "_BLOCK", block)
        found = neighbour_ranks(one.repeat(5, 1), 7 * one.repeat(5, 1), own_pairs(5))
        assert all((ranks == 5).all() for ranks in found.values())
    found = neighbour_ranks(torch.zeros(3, 2), torch.zeros(3, 2), own_pairs(3))
    assert all((ranks == 3).all() for ranks in found.values())


def test_sixteen_bits_are_read_as_thirty_two():
    random = torch.Generator().manual_seed(1)
    first, second = (torch.randn(20, 8, generator=random).half() for _ in range(2))
    found = neighbour_ranks(first, second, own_pairs(20))
    expected = neighbour_ranks(first.float(), second.float(), own_pairs(20))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize(
    ("first", "second", "pairs", "k", "message"),
    [
        ((3, 2), (3, 4), [[0, 0]], 1, r"of one width, got \(3, 2\) and \(3, 4\)"),
        ((3,), (3, 4), [[0, 0]], 1, r"got \(3,\) and \(3, 4\)"),
        ((3, 2), (2, 2), [[2, 2]], 1, "rows of the 3 and 2 vectors"),
        ((3, 2), (2, 2), [[-1, 0]], 1, "rows of the 3 and 2 vectors"),
        ((3, 2), (2, 2), [[0, 0]], 0, "one neighbour or more for CSLS, got 0"),
    ],
)
def test_what_cannot_be_ranked(first, second, pairs, k, message):
    with pytest.raises((ConfigError, DataError), match=message):
        neighbour_ranks(torch.ones(first), torch.ones(second), torch.tensor(pairs), neighbours=k)
