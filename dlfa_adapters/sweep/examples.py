"""Tagged sentences with the frozen states of their windows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.sweep.states import HiddenStates, compute_states


@dataclass(frozen=True)
class TaggedStates:
    """Sentences, their tags, and what a frozen encoder makes of them.

    Attributes:
        words: Sentences of words.
        tags: A tag for each word.
        windows: The windows that the encoder saw; each word is scored in one of them.
        counts: What the tokenizer did to the words.
        states: The encoder's states of the windows.
    """

    words: list[list[str]]
    tags: list[list[str]]
    windows: list[Window]
    counts: AlignmentCounts
    states: HiddenStates

    def positions(self, indices: Sequence[int], seq: int) -> Tensor:
        """The first piece of every word scored in these windows, as row * seq + column; (words,)."""
        return torch.tensor(
            [row * seq + start for row, i in enumerate(indices) for start, _ in self.windows[i].pieces],
            dtype=torch.long,
        )

    def labels(self, indices: Sequence[int], label2id: dict[str, int]) -> Tensor:
        """Label ids in the order of `positions`; -100 for a tag that the task does not have; (words,)."""
        return torch.tensor(
            [
                label2id.get(self.tags[self.windows[i].sentence][word], -100)
                for i in indices
                for word in self.windows[i].words
            ],
            dtype=torch.long,
        )

    def places(self, indices: Sequence[int]) -> Tensor:
        """Where the words, in the order of `positions`, stand among all words of all sentences; (words,)."""
        return torch.tensor(
            [self.starts[self.windows[i].sentence] + word for i in indices for word in self.windows[i].words],
            dtype=torch.long,
        )

    @cached_property
    def starts(self) -> list[int]:
        """How many words come before each sentence; one more entry than sentences."""
        return [0, *accumulate(len(sentence) for sentence in self.words)]

    def by_sentence(self, tags: Sequence[str]) -> list[list[str]]:
        """Tags of all words, in order, as tags of each sentence."""
        return [list(tags[start:stop]) for start, stop in pairwise(self.starts)]


def encode_tagged(
    model: Any,
    tokenizer: Any,
    words: list[list[str]],
    tags: list[list[str]],
    *,
    max_length: int = 128,
    context: int = 64,
    max_tokens: int = 4096,
    keep_on: str | torch.device = "cpu",
    on_progress: Callable[[int], None] | None = None,
) -> TaggedStates:
    """Cut sentences into windows and compute the frozen states of those.

    Args:
        model: The encoder.
        tokenizer: Its fast tokenizer.
        words: Sentences of words.
        tags: A tag for each word.
        max_length: Pieces in a window, special ones included.
        context: Pieces that neighbouring windows share.
        max_tokens: See `compute_states`.
        keep_on: See `compute_states`.
        on_progress: Called with the number of windows that were just done.
    """
    windows, counts = make_windows(tokenizer, words, max_length=max_length, context=context)
    pad = tokenizer.pad_token_id
    states = compute_states(model, windows, pad, max_tokens=max_tokens, keep_on=keep_on, on_progress=on_progress)
    return TaggedStates(words, tags, windows, counts, states)
