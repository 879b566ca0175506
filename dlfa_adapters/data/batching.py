"""Batches of similar length, their padding and order in a training; and from the pieces in them to words and back.

Back means scores of words out of scores of pieces, and labels of pieces out of labels of words.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.data import Sampler

from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.data.windows import Pooling, Window, check_pooling
from dlfa_adapters.ground.errors import RunError


class HasInputIds(Protocol):
    """A window or an encoded text."""

    @property
    def input_ids(self) -> list[int]:
        """The pieces, special tokens included."""
        ...


def pad_batch(
    items: Sequence[HasInputIds], pad_token_id: int | None, *, labels: Sequence[Sequence[int]] | None = None
) -> dict[str, Tensor]:
    """Pads items to the longest of them, always on the right, whatever the tokenizer's `padding_side`.

    Args:
        items: Windows, or texts from `encode_texts`.
        pad_token_id: The tokenizer's; None (it has none) is taken as 0, which the attention mask hides.
        labels: Label ids of each item's pieces, padded with -100.

    Returns:
        `input_ids` and `attention_mask`, `(items, longest)`; `token_type_ids` where the items have them; `labels`
        where given.
    """
    longest = max((len(item.input_ids) for item in items), default=0)

    def padded(rows: Sequence[Sequence[int]], filling: int) -> Tensor:
        return torch.tensor([[*row, *[filling] * (longest - len(row))] for row in rows], dtype=torch.long).reshape(
            len(rows), longest
        )

    batch = {
        "input_ids": padded([item.input_ids for item in items], pad_token_id or 0),
        "attention_mask": padded([[1] * len(item.input_ids) for item in items], 0),
    }
    type_ids = [getattr(item, "token_type_ids", None) for item in items]
    if items and all(row is not None for row in type_ids):
        batch["token_type_ids"] = padded([row for row in type_ids if row is not None], 0)
    if labels is not None:
        batch["labels"] = padded(labels, IGNORED)
    return batch


class SameLengthSampler(Sampler[int]):
    """An order in which batches hold rows of like length: shuffled, then sorted within stretches of eight batches.

    Args:
        lengths: Pieces of each row.
        batch_size: Rows of a step, over all processes.
        seed: Of the order.
        one_stream: By default the order depends on the seed and the epoch alone, so that a resumed training goes on
            where it was cut, and a batch that is not full comes last, as Trainer has it. With `one_stream` the same
            random numbers run through all epochs, each of which is requested once, and that batch stands anywhere: the
            order of heads on frozen states.
        mixture: Which rows an epoch has; by default each once. With it `set_epoch` is called before every epoch. Where
            it draws a batch of one source at a time, batches stay of one source.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        seed: int,
        *,
        one_stream: bool = False,
        mixture: Mixture | None = None,
    ) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch, self.mixture = lengths, batch_size, seed, 0, mixture
        self._source = mixture.source_of() if mixture is not None and mixture.together > 1 else {}
        self._stream = torch.Generator().manual_seed(seed) if one_stream else None

    def set_epoch(self, epoch: int) -> None:
        """Called before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths) if self.mixture is None else self.mixture.epoch_rows

    def __iter__(self) -> Iterator[int]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> list[list[int]]:
        """The batches of an epoch."""
        generator = self._stream or torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        if self.mixture is None:
            order = torch.randperm(len(self.lengths), generator=generator).tolist()
        else:
            order = self.mixture.epoch(self.epoch)
        batches = []
        for start in range(0, len(order), 8 * self.batch_size):
            part = sorted(order[start : start + 8 * self.batch_size], key=self._key)
            batches += [part[i : i + self.batch_size] for i in range(0, len(part), self.batch_size)]
        full = [batch for batch in batches if self._stream or len(batch) == self.batch_size]
        short = batches[len(full) :]  # at most one, and the last
        return [full[i] for i in torch.randperm(len(full), generator=generator).tolist()] + short

    def _key(self, row: int) -> tuple[int, int]:
        """What rows of a stretch are sorted by."""
        return self._source.get(row, 0), self.lengths[row]

    def epochs(self, steps: int) -> Iterator[list[list[int]]]:
        """The batches of each epoch, as many as there are steps in all."""
        epoch = 0
        while steps > 0:
            self.set_epoch(epoch)
            batches = self.batches()[:steps]
            yield batches
            steps, epoch = steps - len(batches), epoch + 1


T = TypeVar("T")

IGNORED = -100
"""The label id that PyTorch's cross-entropy leaves out."""


def pool_pieces(
    scores: Float[Tensor, "seq classes"], pieces: Sequence[tuple[int, int]], pooling: Pooling = "first"
) -> Float[Tensor, "words classes"]:
    """Scores of the words of one window; `pool_batch` does the same for many at once.

    Args:
        scores: Scores of the pieces of the window; padding on the right does no harm.
        pieces: [start, stop) of each word, as in `Window.pieces`.
        pooling: The word's first piece, its last one, or the mean of all.

    Returns:
        One row a word.

    Raises:
        ConfigError: If `pooling` is none of these.
    """
    return pool_batch(scores[None], [pieces], pooling)


def pool_batch(
    scores: Float[Tensor, "batch seq classes"],
    pieces: Sequence[Sequence[tuple[int, int]]],
    pooling: Pooling = "first",
) -> Float[Tensor, "words classes"]:
    """Scores of the words of a batch of windows, in one step on the device; see `pool_pieces`.

    Returns:
        One row a word: those of the first window, then those of the second, and so on.
    """
    check_pooling(pooling)
    width = scores.shape[1]
    spans = [(row * width + a, row * width + b) for row, words in enumerate(pieces) for a, b in words]
    flat = scores.flatten(0, 1)  # (batch * seq, classes)
    if pooling != "mean":
        at = [start if pooling == "first" else stop - 1 for start, stop in spans]
        return flat[torch.tensor(at, dtype=torch.long, device=scores.device)]
    sizes = torch.tensor([stop - start for start, stop in spans], dtype=torch.long, device=scores.device)
    at = [position for start, stop in spans for position in range(start, stop)]
    word_of = torch.repeat_interleave(torch.arange(len(spans), device=scores.device), sizes)
    summed = flat.new_zeros(len(spans), flat.shape[1])
    summed.index_add_(0, word_of, flat[torch.tensor(at, dtype=torch.long, device=scores.device)])
    return summed / sizes[:, None]


def piece_labels(window: Window, label_ids: Sequence[int], pooling: Pooling = "first") -> list[int]:
    """Labels for training: each word's at the piece (for `mean`: at each piece) that it is scored from, -100 elsewhere.

    Words that are in the window only as context have no label there, so every word is learnt from once.

    Args:
        window: A window.
        label_ids: Label ids of all words of the sentence; -100 for a word that is not to be learnt from.
        pooling: As for `pool_pieces`.

    Returns:
        One label id a piece, as long as `window.input_ids`.

    Raises:
        ConfigError: If `pooling` is none of `first`, `last`, `mean`.
    """
    check_pooling(pooling)
    labels = [IGNORED] * len(window.input_ids)
    for word, (start, stop) in zip(window.words, window.pieces, strict=True):
        first = stop - 1 if pooling == "last" else start
        last = start + 1 if pooling == "first" else stop
        labels[first:last] = [label_ids[word]] * (last - first)
    return labels


def collect_words(windows: Sequence[Window], scores: Iterable[Sequence[T]], lengths: Sequence[int]) -> list[list[T]]:
    """Puts what was computed for the words of each window back in the order of the sentences; none may be missing.

    Args:
        windows: Windows, in any order.
        scores: For each window, one thing (a label, a row of scores) for each of its `words`.
        lengths: Number of words of each sentence.

    Returns:
        For each sentence, one thing a word.

    Raises:
        RunError: If a word has none or more than one, which means that windows are missing or given twice.
    """
    missing: Any = object()
    collected: list[list[T]] = [[missing] * length for length in lengths]
    scored = 0
    for window, row in zip(windows, scores, strict=True):
        for word, value in zip(window.words, row, strict=True):
            scored += 1
            collected[window.sentence][word] = value
    total = sum(lengths)
    if scored != total or any(value is missing for values in collected for value in values):
        raise RunError(
            f"expected one score for each of {total} words, got {scored} scores; give all windows, each once."
        )
    return collected
