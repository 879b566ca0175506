"""What keeps a training: numbers that must be finite, with step and layer where they are not; complete checkpoints."""

import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dlfa_adapters.ground.environment import is_main, wait_for_everyone
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.files import DiskFullError, sha256_of, size_of, write_json, writing


class NotFiniteError(RunError):
    """A training has diverged; the text names step and layer."""


def check_loss(model: nn.Module, inputs: dict[str, Any], loss: Tensor, step: int) -> None:
    """Refuse a loss that is not finite, of a model in training mode, its inputs and the step, from 1.

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

    Parameters that learn are given: to walk through a model for them takes longer than the check.

    Raises:
        NotFiniteError: Naming the step, from 1, and the parameters.
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
    """Refuse, with a `NotFiniteError`, to save weights that are not finite, as the last step may have made them."""
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
    with _watching(model) as not_finite:
        model(**inputs)
    if not_finite:
        return f"the first output that is not finite is that of {not_finite[0]}"
    return (
        "the batch runs through with finite numbers when it runs again, so dropout or batch statistics brought it about"
    )


@contextmanager
def _watching(model: nn.Module) -> Iterator[list[str]]:
    """Collect the names of modules whose outputs are not finite, in the order in which they are computed."""
    not_finite: list[str] = []

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: Any, output: Any) -> None:
            tensors = output if isinstance(output, tuple | list) else [output]
            numbers = [t for t in tensors if isinstance(t, Tensor) and t.is_floating_point()]
            # a mask adds the lowest number there is, or -inf, on purpose: only NaN and +inf are signs of trouble
            if any(bool((torch.isnan(t) | torch.isposinf(t)).any()) for t in numbers):
                not_finite.append(name)

        return look

    handles = [module.register_forward_hook(hook(name)) for name, module in model.named_modules() if name]
    try:
        yield not_finite
    finally:
        for handle in handles:
            handle.remove()


logger = logging.getLogger(__name__)

MANIFEST = "complete.json"
"""Written last, by a rename: a checkpoint without it was cut short."""


@contextmanager
def removed_if_the_disk_is_full(checkpoint: Path) -> Iterator[None]:
    """Delete what was written of a checkpoint if there is no room for the rest; those before it stay.

    Raises:
        DiskFullError: With what the last checkpoint took, if there is one.
    """
    before = _checkpoints(checkpoint.parent)[-1:]
    needs = size_of(before[0]) if before and before[0] != checkpoint else None
    try:
        with writing(checkpoint, needs, lambda: size_of(checkpoint)):
            yield
    except DiskFullError:
        shutil.rmtree(checkpoint, ignore_errors=True)
        raise


def seal(checkpoint: Path) -> None:
    """Declare a checkpoint complete: list its files with their checksums."""
    files = {path.relative_to(checkpoint).as_posix(): sha256_of(path) for path in _files(checkpoint)}
    write_json(checkpoint / MANIFEST, {"files": files})


def is_whole(checkpoint: Path) -> bool:
    """Whether every file of a sealed checkpoint is there with the bytes that were written."""
    try:
        files = dict(json.loads((checkpoint / MANIFEST).read_text("utf-8"))["files"])
        there = {path.relative_to(checkpoint).as_posix(): path for path in _files(checkpoint)}
        return files.keys() == there.keys() and all(sha256_of(there[name]) == files[name] for name in files)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def last_whole(folder: Path) -> Path | None:
    """The latest complete checkpoint; those after it, which were cut short or are damaged, are deleted."""
    for checkpoint in reversed(_checkpoints(folder)):
        if is_whole(checkpoint):
            return checkpoint
        shutil.rmtree(checkpoint)
        logger.warning("%s was cut short or is damaged, and was deleted; the one before it counts.", checkpoint)
    return None


def last_checkpoint(folder: Path, resume: bool) -> Path | None:
    """The last complete checkpoint of a training that is resumed, in every process; None where none is."""
    wait_for_everyone()  # until the main process has written the plan
    if not resume:
        return None
    latest = last_whole(folder) if is_main() else None  # which deletes what was cut short
    wait_for_everyone()
    return latest if is_main() else last_whole(folder)


def prune(folder: Path, best: str | None) -> None:
    """Delete all checkpoints but the last two and the best; the newest must be sealed by then."""
    for checkpoint in _checkpoints(folder)[:-2]:
        if best is None or Path(best).name != checkpoint.name:
            shutil.rmtree(checkpoint)


def _checkpoints(folder: Path) -> list[Path]:
    folders = [path for path in folder.glob("checkpoint-*") if path.name.rpartition("-")[2].isdecimal()]
    return sorted(folders, key=lambda path: int(path.name.rpartition("-")[2]))


def _files(checkpoint: Path) -> list[Path]:
    return [path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path.name != MANIFEST]
