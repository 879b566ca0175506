"""Which pieces of a row are hidden, and the rows of a training, each with a mask of its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from torch.utils.data import Dataset

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.kinds.encoded import Row


class Masking:
    """Hides 15 % of a row's pieces, at least one: 80 % become the mask, 10 % any piece, 10 % stay (Devlin et al. 2019).

    Special tokens and pieces that the tokenizer does not know are never hidden.
    """

    SHARE = 0.15

    def __init__(self, tokenizer: Any) -> None:
        self.mask = tokenizer.mask_token_id
        self.is_special = np.zeros(len(tokenizer), dtype=bool)
        self.is_special[tokenizer.all_special_ids] = True
        self.ordinary = np.flatnonzero(~self.is_special)

    def has_candidates(self, ids: np.ndarray) -> bool:
        """Whether there is a piece that can be hidden."""
        return not self.is_special[ids].all()

    def __call__(self, ids: np.ndarray, random: np.random.Generator) -> Row:
        """A row with some pieces hidden, and these as its labels."""
        return self.hide(ids, self.choose(ids, random), random)

    def candidates(self, ids: np.ndarray) -> tuple[np.ndarray, int]:
        """The positions that can be hidden, and how many of them are."""
        found = np.flatnonzero(~self.is_special[ids])
        return found, max(1, round(self.SHARE * len(found)))

    def choose(self, ids: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The positions that are hidden."""
        candidates, count = self.candidates(ids)
        return random.permutation(candidates)[:count]

    def hide(self, ids: np.ndarray, hidden: np.ndarray, random: np.random.Generator) -> Row:
        """A row with the pieces at some positions hidden, and these as its labels."""
        labels = np.full(len(ids), IGNORED)
        labels[hidden] = ids[hidden]
        fate = random.random(len(hidden))
        shown = ids.copy()
        shown[hidden[fate < 0.8]] = self.mask
        changed = hidden[fate >= 0.9]
        shown[changed] = random.choice(self.ordinary, len(changed))
        return Row(shown.tolist(), None, labels.tolist())


class MaskedDraws(Dataset[Row]):
    """A fixed number of rows, each with a mask of its own: all rows in a new order, again and again.

    Row and mask of a draw depend on the seed and its number alone, so that a resumed training, or one in several
    processes or with smaller batches at once, sees the same. `mask` hides some of the pieces of a row.
    """

    def __init__(self, rows: list[Any], mask: Callable[[Any, np.random.Generator], Row], count: int, seed: int) -> None:
        self.source, self.mask, self.seed = rows, mask, seed
        order = np.random.default_rng((seed, 3))
        rounds = [order.permutation(len(rows)) for _ in range(-(-count // len(rows)))]
        self.order = np.concatenate(rounds)[:count]

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, draw: int) -> Row:
        return self.mask(self.source[self.order[draw]], np.random.default_rng((self.seed, 1, draw)))
