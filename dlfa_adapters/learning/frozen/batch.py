"""Some windows with their frozen states, as heads that learn side by side take them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from dlfa_adapters.encoders.states import ranges


@dataclass(frozen=True)
class Batch:
    """Some windows, their tokens one after the other without padding.

    Attributes:
        states: (layers, width, tokens) in float32; the layers are those of `States.layers`.
        lengths: Number of tokens of each window, (windows,), on the CPU.
        positions: Where the first piece of each scored word stands among the tokens, (words,).
        places: Where that word stands among all words of all sentences, (words,).
        rows: Which windows they are.
        inputs: For a head of a kind's own: what it reads and learns beside the states, by name, with a row a window.
    """

    states: Tensor
    lengths: Tensor
    positions: Tensor
    places: Tensor
    rows: Sequence[int] = ()
    inputs: Mapping[str, Tensor] = field(default_factory=dict)

    @cached_property
    def member(self) -> Tensor:
        """1 where a token is of a window, else 0: (windows, tokens)."""
        owner = torch.arange(len(self.lengths)).repeat_interleave(self.lengths)
        member = torch.nn.functional.one_hot(owner, len(self.lengths)).T
        return member.to(self.states.device, self.states.dtype)

    @cached_property
    def mean(self) -> Tensor:
        """What a state is multiplied by for its mean over the tokens of each window: (tokens, windows)."""
        return (self.member / self.member.sum(1, keepdim=True)).T

    def padded(self) -> tuple[Tensor, Tensor, Tensor]:
        """The same as ordinary modules take it.

        Returns:
            States, (layers, windows, seq, width); attention mask, (windows, seq); positions in the flattened windows.
        """
        seq = int(self.lengths.max())
        mask = (torch.arange(seq) < self.lengths.unsqueeze(1)).to(self.states.device)
        place = ranges(torch.arange(len(self.lengths)) * seq, self.lengths).to(self.states.device)
        layers, width, _ = self.states.shape
        out = self.states.new_zeros(layers, len(self.lengths) * seq, width)
        out[:, place] = self.states.transpose(1, 2)
        return out.view(layers, len(self.lengths), seq, width), mask.long(), place[self.positions]
