"""One training in several processes, started by `torchrun` or `accelerate launch`."""

import os

import torch


def world_size() -> int:
    """Number of processes; known before they are connected, from the launcher's environment."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this process is the one that prints and writes runs."""
    return int(os.environ.get("RANK", "0")) == 0


def device_name(without_gpu: str = "CPU") -> str:
    """What a process trains on."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else without_gpu


def wait_for_everyone() -> None:
    """Go on when all processes have come here."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def leave() -> None:
    """Say goodbye to the other processes, at the end of a program."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
