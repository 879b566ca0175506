"""The lower blocks of an encoder, replaced: cached states stand in their place, or the blocks above them are left out.

Blocks give other values and keep their weights, so that a saved model is what it was. Masks, relative positions and all
else come from the encoder's own code, which runs as ever.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.encoders.parts import blocks_of
from dlfa_adapters.encoders.states import Change, States


@dataclass(frozen=True)
class Below(Change):
    """The lower blocks of an encoder: as a `Change`, those above them are left out, since no state of theirs is needed.

    Attributes:
        depth: The last of them, from 1.
        lengths: For every block how many values it gives; 0: a tensor alone.
        layers: Which states are cached: the last one of them, and those that the head fuses.
        autocast: In which precision the encoder computes; None: its own.
    """

    depth: int
    lengths: tuple[int, ...]
    layers: tuple[int, ...]
    autocast: torch.dtype | None = None

    @property
    def identity(self) -> str:
        """The precision; to leave out upper blocks changes no lower state."""
        return "" if self.autocast is None else f"autocast {self.autocast}"

    @contextmanager
    def applied(self, encoder: Any) -> Iterator[None]:
        """See `Change`."""
        upper: dict[int, Callable[[Tensor], Tensor]] = {
            number: lambda given: given for number in range(self.depth + 1, len(self.lengths) + 1)
        }
        with self.precision(encoder.device), self.replaced(encoder, upper):
            yield

    def precision(self, device: torch.device) -> Any:
        """A context in which the encoder computes as in the training."""
        return torch.autocast(device.type, self.autocast, enabled=self.autocast is not None)

    @contextmanager
    def replaced(self, encoder: Any, outputs: Mapping[int, Callable[[Tensor], Tensor | None]]) -> Iterator[None]:
        """Let some blocks hand out something else; their weights stay where they are.

        Args:
            encoder: The model or its encoder.
            outputs: For each block, from 1, what it gives for what it is given; for None it runs as it is.
        """
        blocks = blocks_of(encoder)

        def forward_of(number: int) -> Callable[..., Any]:
            own, length = blocks[number - 1].forward, self.lengths[number - 1]

            def forward(*args: Any, **kwargs: Any) -> Any:
                state = outputs[number](args[0] if args else next(iter(kwargs.values())))
                if state is None:
                    return own(*args, **kwargs)
                return (state, *[None] * (length - 1)) if length else state

            return forward

        for number in outputs:
            blocks[number - 1].forward = forward_of(number)
        try:
            yield
        finally:
            for number in outputs:
                del blocks[number - 1].forward


@dataclass
class LowerStates:
    """Cached states of rows, in the place of the blocks that they come from.

    Attributes:
        below: Which blocks.
        states: Of the rows by their numbers: training data, and dev data behind them.
        batch: Those of the batch that runs, by layer; None: no batch of theirs does, and the blocks run as they are.
    """

    below: Below
    states: States
    batch: dict[int, Tensor] | None = field(default=None, init=False)

    @contextmanager
    def installed(self, model: Any) -> Iterator[None]:
        """Within it, the lower blocks hand out the states of what is `read`."""

        def state_of(number: int) -> Callable[[Tensor], Tensor | None]:
            layer = min(k for k in self.below.layers if k >= number)
            return lambda given: None if self.batch is None else self.batch[layer]

        with self.below.replaced(model, {number: state_of(number) for number in range(1, self.below.depth + 1)}):
            yield

    @contextmanager
    def read(self, numbers: Tensor | None) -> Iterator[None]:
        """Within it, a forward pass gets the states of some rows, (batch,); for None the blocks run as they are."""
        if numbers is not None:
            states, _ = self.states.batch(numbers.tolist(), self.below.layers)
            self.batch = dict(zip(self.below.layers, states, strict=True))
        try:
            yield
        finally:
            self.batch = None
