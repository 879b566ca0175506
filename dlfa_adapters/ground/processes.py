"""One training in several processes, started by `torchrun` or `accelerate launch`."""

import os
from typing import Any


def world_size() -> int:
    """Number of processes; known before they are connected, from the launcher's environment."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this process is the one that prints and writes runs."""
    return int(os.environ.get("RANK", "0")) == 0


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
