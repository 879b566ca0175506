"""AdamW for heads whose weights share tensors, each head at a learning rate and a weight decay of its own."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from dlfa_adapters.learning.frozen.stacks import HeadStack


class Rate(NamedTuple):
    """How fast a head learns.

    Attributes:
        learning_rate: The first one; it falls linearly to zero.
        weight_decay: Of AdamW.
    """

    learning_rate: float
    weight_decay: float = 0.01


class HeadsOptimizer:
    """One AdamW over many heads; what it does to a head is what it would do to that head alone.

    Neighbours of one rate in a stack are one slice of its tensors. The slices, which share their storage with the
    tensors, are what the optimiser knows, in a group of parameters for each rate.

    Args:
        stacks: The heads' weights.
        rates: The rate of each head, by its number.

    Attributes:
        adamw: The optimiser of PyTorch, whose state a checkpoint keeps.
    """

    def __init__(self, stacks: Sequence[HeadStack], rates: Sequence[Rate]) -> None:
        self._gradients: list[Tensor] = []
        groups: dict[Rate, list[Tensor]] = {}
        for stack in stacks:
            for weight in _learnt(stack):
                weight.grad = torch.zeros_like(weight)
                self._gradients.append(weight.grad)
            start = 0
            for rate, same in groupby(rates[member] for member in stack.members):
                stop = start + sum(1 for _ in same)
                groups.setdefault(rate, []).extend(_slices(stack, start, stop))
                start = stop
        self._first = [rate.learning_rate for rate in groups]
        self.adamw = torch.optim.AdamW(
            [
                {"params": params, "lr": rate.learning_rate, "weight_decay": rate.weight_decay}
                for rate, params in groups.items()
            ],
            fused=self._gradients[0].device.type in ("cpu", "cuda"),
        )

    def zero_grad(self) -> None:
        """Forget the gradients; they stay where they are."""
        torch._foreach_zero_(self._gradients)

    def step(self, share: float) -> None:
        """One step.

        Args:
            share: Of the first learning rates that is left.
        """
        for group, first in zip(self.adamw.param_groups, self._first, strict=True):
            group["lr"] = first * share
        self.adamw.step()


def _slices(stack: HeadStack, start: int, stop: int) -> list[Tensor]:
    """The weights of some heads of a stack, with their gradients."""
    if stop - start == len(stack.members):
        return _learnt(stack)
    found = []
    for weight in _learnt(stack):
        assert weight.grad is not None
        part = weight.detach()[start:stop]
        part.grad = weight.grad[start:stop]
        found.append(part)
    return found


def _learnt(stack: HeadStack) -> list[Tensor]:
    return [weight for weight in stack.parameters() if weight.requires_grad]
