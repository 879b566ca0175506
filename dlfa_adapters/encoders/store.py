"""Hidden states in a file, with a fingerprint of all that they depend on; mapped into memory, never read whole.

The file is one of safetensors: a header in JSON, with a checksum of the numbers, then the numbers. What an interrupted
process has left is never taken for whole: a file gets its name when all of it is on the disk.
"""

import hashlib
import json
import logging
import os
import struct
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.encoders import fingerprint
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import HiddenStates
from dlfa_adapters.ground.files import remove_drafts_of, write_whole
from dlfa_adapters.ground.packages import versions

logger = logging.getLogger(__name__)

_DIGEST = "xxh3_128"
_NAMES = {torch.float16: "F16", torch.bfloat16: "BF16"}
_VERSIONS = ("dlfa-adapters", "torch", "transformers")


def describe(model: Any, windows: Sequence[HasInputIds], layers: Sequence[int]) -> dict[str, str]:
    """What states depend on: the encoder, what it reads, and the libraries that run it.

    The pieces of the windows stand for data, tokenizer, and lengths of windows: states are equal if the pieces are.

    Args:
        model: The encoder.
        windows: What it reads.
        layers: Which states are kept.
    """
    pieces = hashlib.sha256()
    for window in windows:
        for row in (window.input_ids, getattr(window, "token_type_ids", None) or ()):
            pieces.update(len(row).to_bytes(4, "little") + array("q", row).tobytes())
    told = versions()
    return {
        "encoder": fingerprint(model),
        "config": hashlib.sha256(model.config.to_json_string().encode()).hexdigest()[:16],
        "pieces": pieces.hexdigest()[:16],
        "layers": ",".join(map(str, layers)),
        "versions": ", ".join(f"{name} {told[name]}" for name in _VERSIONS),
    }


def stored_states(
    path: Path,
    model: Any,
    windows: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
) -> HiddenStates:
    """States from a file, if it has those of this encoder and these windows; otherwise computed, and put there.

    Args:
        path: The file.
        model: See `compute_states`.
        windows: See `compute_states`.
        pad_token_id: See `compute_states`.
        layers: Which states.
        on_progress: See `compute_states`.

    Returns:
        The states, on the CPU, mapped from the file.
    """
    about = describe(model, windows, layers)
    lengths = [len(window.input_ids) for window in windows]
    remove_drafts_of(path)
    found = _read(path, about)
    if found is None:
        with write_whole(path, 2 * sum(lengths) * len(layers) * model.base_model.config.hidden_size) as draft:
            states = compute_states(
                model,
                windows,
                pad_token_id,
                layers=layers,
                allocate=lambda shape, dtype: _new_file(draft, shape, dtype, about),
                on_progress=on_progress,
            )
            _seal(draft, states.tokens)
        found = _read(path, about)
        assert found is not None
    elif on_progress is not None:
        on_progress(len(windows))
    return HiddenStates(found, [0, *accumulate(lengths)], tuple(layers), model.base_model.config.num_hidden_layers)


def _read(path: Path, about: dict[str, str]) -> Tensor | None:
    """The mapped tensor, or None where there is no whole file of these states; a damaged one is deleted, and said."""
    try:
        with safe_open(path, "pt") as file:
            header = dict(file.metadata() or {})
            digest = header.pop(_DIGEST, "")
            if header != about:
                return None
            states: Tensor = file.get_tensor("states")
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError):
        states, digest = torch.empty(0), "none"
    if digest == _digest(states):
        return states
    del states
    path.unlink()
    logger.warning("%s is damaged and was deleted; the states are computed anew.", path)
    return None


def _new_file(path: Path, shape: tuple[int, int, int], dtype: torch.dtype, about: dict[str, str]) -> Tensor:
    """A tensor that writes into a new file."""
    size = 2 * int(np.prod(shape))
    header_of = {**about, _DIGEST: "0" * 32}  # until all numbers are there
    entry = {"dtype": _NAMES[dtype], "shape": shape, "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": header_of, "states": entry}).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        at = file.tell()
        file.truncate(at + size)
        file.flush()
        if size and hasattr(os, "posix_fallocate"):  # else a full disk would kill the process later
            os.posix_fallocate(file.fileno(), at, size)
        os.fsync(file.fileno())
    mapped = np.memmap(path, dtype="<i2", mode="r+", offset=8 + len(header), shape=shape)
    return torch.from_numpy(mapped).view(dtype)


def _digest(states: Tensor) -> str:
    return xxhash.xxh3_128_hexdigest(states.reshape(-1).view(torch.uint8).numpy().data)  # ten times as fast as sha256


def _seal(path: Path, states: Tensor) -> None:
    """Write the checksum of the numbers into the header of the file that they are in."""
    with path.open("r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = file.read(size)
        at = header.index(f'"{_DIGEST}": "'.encode()) + len(_DIGEST) + 5
        file.seek(8 + at)
        file.write(_digest(states).encode())
