"""A linear map from the vectors of one language to those of another, learnt on a dictionary."""

from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from dlfa_adapters.ground.errors import DataError, MissingExtraError


@dataclass(frozen=True)
class LinearMap:
    """An orthogonal map from the vectors of one language to those of another.

    Attributes:
        means: Of the unit vectors of both languages, (width,) each.
        rotation: (width, width).
    """

    means: tuple[Tensor, Tensor]
    rotation: Tensor

    def __call__(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of both languages, (items, width) each, in the space of the second."""
        return _prepared(first, self.means[0]) @ self.rotation, _prepared(second, self.means[1])


def learn_map(first: Tensor, second: Tensor) -> LinearMap:
    """Learn the orthogonal map that brings words nearest to their translations (Procrustes).

    Vectors are brought to length 1, centred, and to length 1 again, as Artetxe et al. 2018, "Generalizing and improving
    bilingual word embedding mappings with a multi-step framework of linear transformations", normalise them; then the
    map is that of Xing et al. 2015 and Conneau et al. 2018, arXiv 1710.04087, Equation 2.

    Args:
        first: Vectors of words, (pairs, width).
        second: Vectors of their translations, likewise.

    Raises:
        MissingExtraError: If scipy is not installed.
        DataError: If there are not as many of both, or fewer than two.
    """
    check_static()
    from scipy.linalg import orthogonal_procrustes

    if len(first) != len(second) or len(first) < 2:
        raise DataError(
            f"expected two or more words with their translations to learn a map, got {len(first)} and {len(second)}"
        )
    unit = [torch.nn.functional.normalize(side, dim=1) for side in (first, second)]
    means = (unit[0].mean(0), unit[1].mean(0))
    x, y = (_prepared(side, mean).double().numpy() for side, mean in zip((first, second), means, strict=True))
    rotation, _ = orthogonal_procrustes(x, y)
    return LinearMap(means, torch.from_numpy(rotation).to(first.dtype))


def _prepared(vectors: Tensor, mean: Tensor) -> Tensor:
    return torch.nn.functional.normalize(torch.nn.functional.normalize(vectors, dim=1) - mean, dim=1)


def check_static() -> None:
    """Refuse to train word2vec, or a map, where the extra `static` is not installed.

    Raises:
        MissingExtraError: If so.
    """
    if missing := [name for name in ("gensim", "scipy") if find_spec(name) is None]:
        raise MissingExtraError(f"Static vectors need {missing[0]}; type pip install 'dlfa-adapters[static]'.")
