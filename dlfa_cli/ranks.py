"""Processes that `torchrun` started, each with work and a GPU of its own."""

import os


def see_one_gpu() -> None:
    """Let this process see no GPU but its own, as if the machine had one; to be called before PyTorch is imported."""
    rank, processes = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = visible.split(",") if visible is not None else [str(i) for i in range(processes)]
    if processes > 1 and len(devices) > rank:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[rank]
