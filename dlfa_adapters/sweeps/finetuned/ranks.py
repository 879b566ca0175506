"""The trainings of a sweep on several processes, each of which takes the next that nobody has; how many fit at once.

Members of different processes have nothing to do with each other, so there is no process group, whose presence would
make batch norm add up statistics over processes: they only share the launcher's key-value store.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

import torch

from dlfa_adapters.ground.environment import is_main, world_size
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.sweeps.prepare import Prepared

_LAUNCHER = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT",
)  # fmt: skip
_LONG = timedelta(days=30)
_SWEEPS = count()


class Ranks:
    """This process among those of `torchrun`; alone where there is no launcher."""

    def __init__(self) -> None:
        self.size = world_size()
        self._taken = 0
        self._store = _store_of(next(_SWEEPS)) if self.size > 1 else None

    def agree(self, make: Callable[[], Any]) -> Any:
        """What the main process has made, something that JSON can hold, in every process, once all have come here."""
        if self._store is None:
            return make()
        if is_main():
            self._store.set("agreed", json.dumps(make()))
        self._meet("begin")
        return json.loads(self._store.get("agreed"))

    def take(self) -> int:
        """0, 1, 2, ...: each number goes to one process."""
        if self._store is not None:
            return int(self._store.add("taken", 1)) - 1
        self._taken += 1
        return self._taken - 1

    def wait(self) -> None:
        """Go on when all processes have come here; the main one, which may hold the store, leaves it last."""
        if self._store is not None:
            self._meet("end")
            self._meet("leave", wait=is_main())

    def _meet(self, door: str, wait: bool = True) -> None:
        """Wait until all processes have come to a door; or let them know that this one has."""
        assert self._store is not None
        if self._store.add(door, 1) == self.size:
            self._store.set(f"all at {door}", "")
        if wait:
            self._store.wait([f"all at {door}"], _LONG)


def _store_of(sweep: int) -> Any:
    """The part of the launcher's store that is for one of the sweeps of this process."""
    from torch.distributed.distributed_c10d import PrefixStore

    return PrefixStore(f"sweep {sweep}", _store())


@cache
def _store() -> Any:
    """The launcher's store, of which a process opens one."""
    from torch.distributed.rendezvous import rendezvous

    return next(rendezvous("env://"))[0]


def own_device() -> torch.device:
    """The GPU of this process, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


@contextmanager
def without_launcher() -> Iterator[None]:
    """Hide the launcher, so that Trainer trains in this process by itself."""
    hidden = {name: os.environ.pop(name) for name in _LAUNCHER if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


_SHARE = 0.85
"""Of the memory that is free: the rest is for fragments, and for what the estimate leaves out."""


def bytes_per_member(config: Any, rows: Sequence[Row], *, batch_size: int, precision: str, device: torch.device) -> int:
    """About how much memory a member of an ensemble takes in a step of the longest batch.

    Weight, gradient and Adam's two moments take 16 bytes a parameter in float32, and casts and the gradients of single
    blocks about 6 more. A block saves about 12 vectors of the encoder's width and 3 of the inner width a piece for the
    backward pass, and on a CPU its attention weights.
    """
    width, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    pieces = len({piece for row in rows for piece in row.input_ids})
    parameters = layers * (4 * width * width + 2 * width * inner) + (pieces + config.max_position_embeddings) * width
    seq = max(len(row.input_ids) for row in rows)
    batch = min(batch_size, len(rows))
    activations = (4 if precision == "fp32" else 3) * layers * batch * seq * (12 * width + 3 * inner)
    attention = 12 * layers * batch * config.num_attention_heads * seq * seq if device.type == "cpu" else 0
    return 22 * parameters + activations + attention


def how_many_at_once(prepared: Prepared, runs: int, device: torch.device, wanted: int | None) -> int:
    """How many models to train side by side, of so many `runs`: as many as are `wanted`, or None: as many as fit.

    On a CPU stacking saves no time (measured: the same CPU seconds as one after another), so there it is one.

    Raises:
        ConfigError: If the user says less than one.
    """
    if wanted is not None and wanted < 1:
        raise ConfigError(f"expected at least one model at once, got {wanted}; type --at-once 1.")
    if wanted is not None or device.type == "cpu":
        return min(wanted or 1, runs)
    free = torch.cuda.mem_get_info(device)[0]
    model, settings = prepared.encoder.model, prepared.settings
    table = model.base_model.embeddings.word_embeddings.weight
    each = bytes_per_member(
        model.config,
        prepared.train.rows,
        batch_size=settings.steps.batch_size,
        precision=str(settings.machine.precision),
        device=device,
    )
    return max(1, min(runs, int((_SHARE * free - table.numel() * table.element_size()) / each)))
