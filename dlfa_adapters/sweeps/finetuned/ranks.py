"""The trainings of a sweep on several processes: each takes the next ones that nobody has taken.

Members of different processes have nothing to do with each other, so there is no process group, whose presence would
make batch norm add up statistics over processes: they only share the launcher's key-value store.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

import torch

from dlfa_adapters.ground.running import is_main, world_size

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
        """What the main process has made, in every process, once all have come here.

        Args:
            make: Makes something that JSON can hold; called in the main process alone.
        """
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
def alone() -> Iterator[None]:
    """Hide the launcher, so that Trainer trains in this process by itself."""
    hidden = {name: os.environ.pop(name) for name in _LAUNCHER if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
