"""Tensors in a file with its own checksum, complete or not there."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.ground.files import write_whole


class DamagedError(RunError):
    """A file is not the one that was written: cut short, or changed."""


def save_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors as safetensors, with the sha256 of all that is in the file in its header.

    Args:
        path: The file; an earlier one is replaced.
        tensors: By name, of any shape, on any device.
        about: What to save beside them; JSON can hold it.
    """
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(about)
    header = len(text) + 150 * len(on_cpu)  # about
    with write_whole(path, header + sum(tensor.nbytes for tensor in on_cpu.values())) as draft:
        save_file(on_cpu, draft, {"about": text, "sha256": _digest(on_cpu, text)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Returns:
        The tensors by name, and what was saved beside them.

    Raises:
        DamagedError: If the file is not the one that was written.
        FileNotFoundError: If there is none.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        text = header["about"]
        intact = _digest(tensors, text) == header["sha256"]
    except (OSError, SafetensorError, RuntimeError, LookupError, TypeError, ValueError) as error:
        raise DamagedError(f"{path} is damaged ({error}).") from error
    if not intact:
        raise DamagedError(f"{path} is damaged: it is not the file that was written.")
    return tensors, json.loads(text)


def _digest(tensors: Mapping[str, Tensor], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
