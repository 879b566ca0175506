"""What a command runs in: other packages, processes, and the hub.

Packages are imported on first use, or missing, and log; a command that takes long says how far it is, in one process or
several; the hub answers, or what is cached must do.
"""

import contextlib
import gc
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

_RECORDED = ("dlfa-adapters", "adapters", "transformers", "torch", "datasets", "peft", "tokenizers", "sentencex")


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562): what is wrong with a command can be said before PyTorch loads.

    Args:
        package: Its `__name__`.
        modules: Each public name, and the module of the package that has it; `module:name` where it is another there.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = modules[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), there or name)

    return get


@contextmanager
def uncollected() -> Iterator[None]:
    """Import without a search for garbage: there is next to none among half a million objects that stay to the end.

    The searches take a fifth of the time in which PyTorch, Transformers and adapters are imported.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def versions() -> dict[str, str]:
    """Versions of the packages that matter for repeating a run."""
    return {package: _version(package) for package in _RECORDED}


@cache
def _version(package: str) -> str:
    from importlib import metadata  # which whoever imports a name on first use need not wait for

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


@contextmanager
def without_lines(logger: str, *beginnings: str) -> Iterator[None]:
    """Keep the lines of a library's logger that begin so off its log for a while; whatever else it says stays."""

    def stays(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(beginnings)

    log = logging.getLogger(logger)
    log.addFilter(stays)
    try:
        yield
    finally:
        log.removeFilter(stays)


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


_SECONDS = 10
"""Long enough for a slow line; a name that is not found, or no network at all, shows at once."""


def only_cached(name: str) -> bool:
    """Whether a name on the hub can be found in the cache alone: what `local_files_only` of `from_pretrained` takes.

    Args:
        name: A name on the hub, or a folder, for which there is no request.
    """
    return not Path(name).exists() and not hub_answers()


@cache
def hub_answers() -> bool:
    """Whether the hub answers; with HF_HUB_OFFLINE there is no request. The answer holds for this process."""
    from huggingface_hub import constants, get_session  # whoever does not ask need not wait for it

    if constants.HF_HUB_OFFLINE:
        return False
    answered = []

    def ask() -> None:
        with contextlib.suppress(OSError):  # what requests raises
            get_session().head(constants.ENDPOINT, timeout=_SECONDS, allow_redirects=False)
            answered.append(True)

    thread = Thread(target=ask, daemon=True)  # looking a name up has no time limit of its own
    thread.start()
    thread.join(_SECONDS + 1)
    return bool(answered)


def no_answer() -> str:
    """Why nothing came from the hub, for an error's text."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    return f"the hub ({constants.ENDPOINT}) does not answer"


@contextlib.contextmanager
def cached_datasets_only(wanted: bool) -> Iterator[None]:
    """Inside, `datasets` takes what is in its cache and asks nobody, if so wanted.

    Its own switch is read from HF_HUB_OFFLINE once, when it is imported.
    """
    import datasets  # half a second, which whoever asks for an encoder need not wait

    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before
