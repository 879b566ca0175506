"""Where hidden states are kept: in files and on the GPU if there is room, otherwise nowhere."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import States, StreamedStates
from dlfa_adapters.encoders.store import stored_states
from dlfa_adapters.ground.files import free_disk, in_bytes

DEFAULT_BUDGET = 20 * 10**9
"""Most bytes of states in files."""

_SPARE = 2 * 2**30


@dataclass(frozen=True)
class Keeping:
    """What will be done with the states of some data.

    Attributes:
        size: Bytes of all states.
        tokens: How many tokens there are.
        layers: Which states are kept.
        folder: Where the files are; None: there are none.
        device: Where the states are handed out: where the encoder is.
        on_device: Whether they are also kept there, on a GPU.
    """

    size: int
    tokens: int
    layers: tuple[int, ...]
    folder: Path | None
    device: torch.device
    on_device: bool

    def __str__(self) -> str:
        """One sentence for the screen."""
        what = f"Hidden states: {self.tokens:,} tokens, {len(self.layers)} layers, {in_bytes(self.size)}"
        places = [f"in {self.folder}"] if self.folder else []
        places += [f"on {torch.cuda.get_device_name(self.device)}"] if self.on_device else []
        if not places:
            return f"{what}: too much to keep, so the encoder runs once in every epoch"
        return f"{what}, {' and '.join(places)}"


def decide(
    model: Any,
    windows: Mapping[str, Sequence[HasInputIds]],
    layers: Sequence[int],
    folder: Path | None,
    budget: int = DEFAULT_BUDGET,
) -> Keeping:
    """Look for room.

    Files need room in the budget and on the disk; a GPU takes what fits into half of its free memory.

    Args:
        model: The encoder, where it will run.
        windows: What it will read, by name.
        layers: Which states are needed.
        folder: Where files may go; None: nowhere.
        budget: Most bytes in files.
    """
    tokens = sum(len(window.input_ids) for part in windows.values() for window in part)
    size = 2 * tokens * len(layers) * model.base_model.config.hidden_size
    device = torch.device(model.base_model.device)
    there = sum(path.stat().st_size for path in folder.glob("*.safetensors")) if folder and folder.is_dir() else 0
    room = folder is not None and size <= budget and size + _SPARE <= free_disk(folder) + there
    on_device = device.type == "cuda" and 2 * size <= torch.cuda.mem_get_info(device)[0]
    return Keeping(size, tokens, tuple(layers), folder if room else None, device, on_device)


def keep(
    keeping: Keeping,
    model: Any,
    windows: Mapping[str, Sequence[HasInputIds]],
    pad_token_id: int | None,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, States]:
    """Compute states, or make them ready to be computed in every epoch.

    Args:
        keeping: From `decide`.
        model: The encoder, in eval mode.
        windows: What it reads, by name; a name is also that of a file.
        pad_token_id: The tokenizer's.
        on_progress: Called with the number of windows that were just done.

    Returns:
        The states by name.
    """
    found: dict[str, States] = {}
    for (name, part), file in zip(windows.items(), file_names(windows), strict=True):
        if keeping.folder is not None:
            path = keeping.folder / f"{file}.safetensors"
            stored = stored_states(path, model, part, pad_token_id, keeping.layers, on_progress)
            tokens = stored.tokens.to(keeping.device) if keeping.on_device else stored.tokens
            found[name] = replace(stored, tokens=tokens, target=keeping.device)
        elif keeping.on_device:
            found[name] = compute_states(
                model, part, pad_token_id, layers=keeping.layers, keep_on=keeping.device, on_progress=on_progress
            )
        else:
            found[name] = StreamedStates(model, part, pad_token_id, keeping.layers)
    return found


def file_names(names: Mapping[str, object]) -> list[str]:
    """A plain file name for each name, with a number where two would be the same, large and small letters being one."""
    plain = [re.sub("[^A-Za-z0-9_-]+", "-", name)[:40] for name in names]
    lower = [name.lower() for name in plain]
    return [f"{name}.{i}" if lower[i] in lower[:i] else name for i, name in enumerate(plain)]
