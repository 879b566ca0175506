"""AdamW for M models at once: clipped model by model, with the groups and the schedule of Trainer."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import Trainer, get_linear_schedule_with_warmup

from dlfa_adapters.learning.ensemble.ensemble import Ensemble


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What Trainer's arguments of these names say.

    Attributes:
        learning_rate: Of the encoder, at its highest: one for all members, or one for each.
        head_learning_rate: Of fusion and classifier, likewise.
        weight_decay: Of all but biases and layer norms.
        max_grad_norm: Gradients of a model are scaled down to this norm; 0: never.
        steps: Steps in all.
        warmup_steps: Steps in which the rates rise from zero; they then fall linearly to zero.
    """

    learning_rate: float | Sequence[float]
    head_learning_rate: float | Sequence[float]
    weight_decay: float
    max_grad_norm: float
    steps: int
    warmup_steps: int


class EnsembleOptimizer:
    r"""One optimiser over stacked parameters that does to each member what it would do to that member alone.

    AdamW works element by element, so stacking changes nothing in it. Where members have rates of their own, it knows
    slices of the stacked parameters, which share their storage: neighbours of one rate are one slice.

    Clipping is no such thing: the gradient of member m is scaled by $\min(1, c / (\lVert g_m \rVert + 10^{-6}))$, with
    the norm over all parameters of that member. The norms, (members,), stay on the device; no step waits for a value.

    Args:
        ensemble: What learns.
        rates: How.

    Attributes:
        first_bad: The first step, from 1, in which a member's loss or gradient was not finite; 0: none. (members,)
    """

    def __init__(self, ensemble: Ensemble, rates: Rates) -> None:
        self.ensemble, self.rates = ensemble, rates
        self.first_bad = torch.zeros(len(ensemble), dtype=torch.long, device=ensemble.device)
        self._parameters = [
            (torch.tensor(members, device=ensemble.device), p) for members, p in ensemble.parameters().values()
        ]
        self._encoder_rates, self._head_rates = (
            [rate] * len(ensemble) if isinstance(rate, int | float) else list(rate)
            for rate in (rates.learning_rate, rates.head_learning_rate)
        )
        self._slices: list[_Slice] = []
        self._optimizer = torch.optim.AdamW(self._groups(), lr=0.0, fused=True)
        self._schedule = get_linear_schedule_with_warmup(self._optimizer, rates.warmup_steps, rates.steps)
        padding = ensemble.encoder.padding_idx
        self._padding = None if padding is None else ensemble.encoder.vocabulary.row(padding)
        self._step = 0

    @torch.no_grad()
    def step(self, losses: Tensor) -> None:
        """Clip, step, and let the rates go on.

        Args:
            losses: The loss of each member, whose gradients are there, (members,).
        """
        self._step += 1
        words = self.ensemble.encoder.leaves["words"].grad
        if self._padding is not None and words is not None:  # as `nn.Embedding(padding_idx)`
            words[:, self._padding] = 0
        norms = self._norms()
        bad = ~(torch.isfinite(losses) & torch.isfinite(norms))
        self.first_bad = torch.where(bad & (self.first_bad == 0), self._step, self.first_bad)
        if self.rates.max_grad_norm > 0:
            factor = (self.rates.max_grad_norm / (norms + 1e-6)).clamp(max=1)
            for members, p in self._parameters:
                if p.grad is not None:
                    p.grad.mul_(factor[members].view(-1, *[1] * (p.ndim - 1)))
        decay = self._schedule.lr_lambdas[0](self._schedule.last_epoch) * self.rates.weight_decay
        self.ensemble.encoder.vocabulary.decay([1 - rate * decay for rate in self._encoder_rates])
        for whole, start, stop, part in self._slices:
            part.grad = None if whole.grad is None else whole.grad[start:stop]
        self._optimizer.step()
        self._schedule.step()
        for _, p in self._parameters:
            p.grad = None

    def _norms(self) -> Tensor:
        """The norm of each member's gradient, (members,)."""
        squares = torch.zeros(len(self.ensemble), device=self.ensemble.device)
        for members, p in self._parameters:
            if p.grad is not None:
                squares.index_add_(0, members, torch.linalg.vector_norm(p.grad.reshape(len(p), -1), dim=1).square())
        return squares.sqrt()

    def _groups(self) -> list[dict[str, object]]:
        """Groups of parameters of one rate and weight decay."""
        decayed = _decayed(self.ensemble)
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, (members, p) in self.ensemble.parameters().items():
            rates = self._encoder_rates if name.startswith("encoder.") else self._head_rates
            decay, start = self.rates.weight_decay if name in decayed else 0.0, 0
            for rate, same in groupby(rates[member] for member in members):
                stop = start + sum(1 for _ in same)
                part = p
                if stop - start < len(members):
                    part = p.detach()[start:stop]
                    self._slices.append(_Slice(p, start, stop, part))
                groups.setdefault((rate, decay), []).append(part)
                start = stop
        return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


class _Slice(NamedTuple):
    """A part of a stacked parameter, which the optimiser knows in its place."""

    whole: Tensor
    start: int
    stop: int
    part: Tensor


def _decayed(ensemble: Ensemble) -> set[str]:
    """Names of parameters that decay: of the encoder all but biases and layer norms, of fusions what Trainer says."""
    leaves = ensemble.encoder.leaves
    names = {f"encoder.{name}" for name in leaves if "norm" not in name and not name.endswith(".bias")}
    for number, group in enumerate(ensemble.heads.groups):
        names.add(f"head.{number}.classifier.weight")
        fusion = Trainer.get_decay_parameter_names(None, group.fusion)
        names |= {f"head.{number}.fusion.{name}" for name in fusion}
    return names
