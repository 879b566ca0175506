"""A command that takes long: in how many processes it runs, and how far it is."""

import os
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, int, int], None]
"""Called with a stage, how many of its steps were just done, and how many it has in all."""


def world_size() -> int:
    """Number of processes; known before they are connected, from the launcher's environment."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this process is the one that prints and writes runs."""
    return int(os.environ.get("RANK", "0")) == 0


def see_one_gpu() -> None:
    """Let this process see no GPU but its own, as if the machine had one; to be called before PyTorch is imported."""
    rank, processes = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = visible.split(",") if visible is not None else [str(i) for i in range(processes)]
    if processes > 1 and len(devices) > rank:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[rank]


def device_name(without_gpu: str = "CPU") -> str:
    """What a process trains on."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else without_gpu


def wait_for_everyone() -> None:
    """Go on when all processes have come here."""
    if connected := _connected():
        connected.barrier()


def leave() -> None:
    """Say goodbye to the other processes, at the end of a program."""
    if connected := _connected():
        connected.destroy_process_group()


def _connected() -> Any:
    """The module by which the processes talk to each other; None where there is one alone."""
    from torch import distributed

    return distributed if distributed.is_available() and distributed.is_initialized() else None


def count_items(items: int, total: int, report: Callable[[int, int], object]) -> Callable[[int], None]:
    """Progress in items where a model reports windows, of which a long sentence has several and an empty one none.

    Args:
        items: How many items the model gets.
        total: How many there are in all.
        report: Called with how many items were just done, and the total.

    Returns:
        What to call with a number of windows, and at the end with the number of items.
    """
    left = items

    def step(done: int) -> None:
        nonlocal left
        done = min(done, left)
        left -= done
        report(done, total)

    return step
