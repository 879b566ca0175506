"""When a loss or gradient is no longer a finite number: stop, and say at which step and where it began."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.ground.errors import RunError


class NotFiniteError(RunError):
    """A training has diverged; the text names step and layer."""


def check_loss(model: nn.Module, inputs: dict[str, Any], loss: Tensor, step: int) -> None:
    """Refuse a loss that is not finite.

    Args:
        model: The model, in training mode.
        inputs: What it was called with.
        loss: What came out.
        step: Number of the step, from 1.

    Raises:
        NotFiniteError: Naming the step, and the first module whose output is not finite.
    """
    if bool(torch.isfinite(loss)):
        return
    raise NotFiniteError(
        f"The loss is {float(loss)} at step {step}; {_where(model, inputs)}. "
        "Type a smaller --lr or --head-lr, or --precision fp32."
    )


def check_gradients(model: nn.Module, step: int, learning: Sequence[nn.Parameter]) -> None:
    """Refuse gradients that are not finite, before they reach the weights.

    Args:
        model: The model.
        step: Number of the step, from 1.
        learning: Its parameters that learn; to walk through a model for them takes longer than the check.

    Raises:
        NotFiniteError: Naming the step and the parameters.
    """
    gradients = [parameter.grad for parameter in learning if parameter.grad is not None]
    if not gradients or bool(torch.isfinite(torch.nn.utils.get_total_norm(gradients))):
        return
    named = [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]
    wrong = [name for name, grad in named if not torch.isfinite(grad).all()]
    if not wrong:  # the sum of their squares alone is beyond what a float can hold
        return
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    raise NotFiniteError(
        f"The gradient of {wrong[-1]}{more} is not finite at step {step}. "
        "Type a smaller --lr or --head-lr, or --precision fp32."
    )


@torch.no_grad()
def check_weights(model: nn.Module) -> None:
    """Refuse to keep weights that are not finite: the last step may have made them so, and no loss comes after it.

    Args:
        model: The model that was trained.

    Raises:
        NotFiniteError: Naming the weights.
    """
    wrong = _not_finite(model)
    if wrong:
        raise NotFiniteError(f"The {wrong} after the last step. Type a smaller --lr or --head-lr, or --precision fp32.")


def _not_finite(model: nn.Module) -> str:
    """The weights that are not finite, for a sentence; nothing where all are."""
    names = [name for name, p in model.named_parameters() if not torch.isfinite(p).all()]
    more = f", nor {len(names) - 1} more" if names[1:] else ""
    return f"weights {names[0]} are not finite{more}" if names else ""


@torch.no_grad()
def _where(model: nn.Module, inputs: dict[str, Any]) -> str:
    """Run the batch once more, on this process alone and without dropout, and watch every module."""
    model = getattr(model, "module", model).eval()
    if wrong := _not_finite(model):
        return f"the {wrong}"
    with _watching(model) as found:
        model(**inputs)
    if found:
        return f"the first output that is not finite is that of {found[0]}"
    return (
        "the batch runs through with finite numbers when it runs again, so dropout or batch statistics brought it about"
    )


@contextmanager
def _watching(model: nn.Module) -> Iterator[list[str]]:
    """Collect the names of modules whose outputs are not finite, in the order in which they are computed."""
    found: list[str] = []

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: Any, output: Any) -> None:
            tensors = output if isinstance(output, tuple | list) else [output]
            # a mask adds the lowest number there is, or -inf, on purpose: only NaN and +inf are signs of trouble
            if any(isinstance(t, Tensor) and t.is_floating_point() and _is_bad(t) for t in tensors):
                found.append(name)

        return look

    handles = [module.register_forward_hook(hook(name)) for name, module in model.named_modules() if name]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _is_bad(tensor: Tensor) -> bool:
    return bool(torch.isnan(tensor).any() or torch.isposinf(tensor).any())
