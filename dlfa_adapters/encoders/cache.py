"""The cache of hidden states: files and a GPU where there is room; otherwise they are computed whenever requested.

A file has a fingerprint of all that its states depend on, and is mapped into memory, never read completely. It is one
of safetensors: a header in JSON, with a checksum of the numbers, then the numbers. What an interrupted process has left
is never taken for complete: a file gets its name when all of it is on the disk.
"""

import json
import logging
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import Change, HiddenStates, States, StreamedStates, identity_of
from dlfa_adapters.ground.files import free_disk, in_bytes, remove_drafts_of, write_whole

DEFAULT_BUDGET = 20 * 10**9
"""Most bytes of states in files."""

logger = logging.getLogger(__name__)

_DIGEST = "xxh3_128"
_NAMES = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32"}
_SPARE = 2 * 2**30


@dataclass(frozen=True)
class Cache:
    """Where the states of some data go.

    Attributes:
        size: Bytes of all states.
        tokens: How many tokens there are.
        layers: Which states are cached.
        folder: Where the files are; None: there are none.
        device: Where the states are handed out: where the encoder is.
        on_device: Whether they are also cached there, on a GPU.
        changes: See `states_of`.
        exact: See `compute_states`.
    """

    size: int
    tokens: int
    layers: tuple[int, ...]
    folder: Path | None
    device: torch.device
    on_device: bool
    changes: tuple[Change, ...] = ()
    exact: bool = False

    def __str__(self) -> str:
        """One sentence for the screen."""
        what = f"Hidden states: {self.tokens:,} tokens, {len(self.layers)} layers, {in_bytes(self.size)}"
        places = [f"in {self.folder}"] if self.folder else []
        places += [f"on {torch.cuda.get_device_name(self.device)}"] if self.on_device else []
        if not places:
            return f"{what}: too much to keep, so the encoder runs once in every epoch"
        return f"{what}, {' and '.join(places)}"

    def states(
        self,
        model: Any,
        windows: Mapping[str, Sequence[HasInputIds]],
        pad_token_id: int | None,
        on_progress: Callable[[int], None] | None = None,
    ) -> dict[str, States]:
        """The states of the windows by name, computed where they are not cached yet, or ready to be whenever requested.

        Args:
            model: The encoder, in eval mode.
            windows: What it reads, by name; a name is also that of a file.
            pad_token_id: The tokenizer's.
            on_progress: Called with the number of windows that were just done.
        """
        states: dict[str, States] = {}
        for (name, part), file in zip(windows.items(), state_file_names(windows), strict=True):
            about = (model, part, pad_token_id)
            if self.folder is not None:
                path = self.folder / f"{file}.safetensors"
                cached = cached_states(path, *about, self.layers, on_progress, self.changes, self.exact)
                tokens = cached.tokens.to(self.device) if self.on_device else cached.tokens
                states[name] = replace(cached, tokens=tokens, target=self.device)
            elif self.on_device:
                how: dict[str, Any] = {"layers": self.layers, "changes": self.changes, "exact": self.exact}
                states[name] = compute_states(*about, **how, cache_on=self.device, on_progress=on_progress)
            else:
                states[name] = StreamedStates(*about, self.layers, self.changes)
        return states


def find_room(
    model: Any,
    windows: Mapping[str, Sequence[HasInputIds]],
    layers: Sequence[int],
    folder: Path | None,
    budget: int = DEFAULT_BUDGET,
    changes: Sequence[Change] = (),
    exact: bool = False,
) -> Cache:
    """Where the states of some windows can be cached.

    Files need room in the budget and on the disk; a GPU takes what fits into half of its free memory.

    Args:
        model: The encoder, where it will run.
        windows: What it will read, by name.
        layers: Which states are needed.
        folder: Where files may go; None: nowhere.
        budget: Most bytes in files.
        changes: See `states_of`.
        exact: See `compute_states`.
    """
    tokens = sum(len(window.input_ids) for part in windows.values() for window in part)
    size = (4 if exact else 2) * tokens * len(layers) * model.base_model.config.hidden_size
    device = torch.device(model.base_model.device)
    there = sum(path.stat().st_size for path in folder.glob("*.safetensors")) if folder and folder.is_dir() else 0
    room = folder is not None and size <= budget and size + _SPARE <= free_disk(folder) + there
    on_device = device.type == "cuda" and 2 * size <= torch.cuda.mem_get_info(device)[0]
    return Cache(size, tokens, tuple(layers), folder if room else None, device, on_device, tuple(changes), exact)


def state_file_names(names: Mapping[str, object]) -> list[str]:
    """A plain file name for each name, with a number where two would be the same, large and small letters being one."""
    plain = [re.sub("[^A-Za-z0-9_-]+", "-", name)[:40] for name in names]
    lower = [name.lower() for name in plain]
    return [f"{name}.{i}" if lower[i] in lower[:i] else name for i, name in enumerate(plain)]


def cached_states(
    path: Path,
    model: Any,
    windows: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
    changes: Sequence[Change] = (),
    exact: bool = False,
) -> HiddenStates:
    """States from a file, if it has those of this encoder and these windows; otherwise computed, and put there.

    Args:
        path: The file.
        model: See `compute_states`.
        windows: See `compute_states`.
        pad_token_id: See `compute_states`.
        layers: Which states.
        on_progress: See `compute_states`.
        changes: See `states_of`.
        exact: See `compute_states`.

    Returns:
        The states, on the CPU, mapped from the file.
    """
    about = identity_of(model, windows, layers, changes) | ({"precision": "float32"} if exact else {})
    lengths = [len(window.input_ids) for window in windows]
    remove_drafts_of(path)
    cached = _read(path, about)
    if cached is None:
        with write_whole(
            path, (4 if exact else 2) * sum(lengths) * len(layers) * model.base_model.config.hidden_size
        ) as draft:
            states = compute_states(
                model,
                windows,
                pad_token_id,
                layers=layers,
                changes=changes,
                exact=exact,
                allocate=lambda shape, dtype: _new_file(draft, shape, dtype, about),
                on_progress=on_progress,
            )
            _seal(draft, states.tokens)
        cached = _read(path, about)
        assert cached is not None
    elif on_progress is not None:
        on_progress(len(windows))
    return HiddenStates(cached, [0, *accumulate(lengths)], tuple(layers), model.base_model.config.num_hidden_layers)


def _read(path: Path, about: dict[str, str]) -> Tensor | None:
    """The mapped tensor; None where no file of these states is complete; a damaged one is deleted, with a warning."""
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
    halves = (*shape[:2], shape[2] * dtype.itemsize // 2)
    size = 2 * int(np.prod(halves))
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
    mapped = np.memmap(path, dtype="<i2", mode="r+", offset=8 + len(header), shape=halves)
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
