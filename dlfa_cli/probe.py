"""What `dlfa doctor` must not look at in its own process: imports and drivers that may hang or crash.

Run as `python -m dlfa_cli.probe`; the last line on stdout is JSON. Each part that fails gives its error as text.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

NETWORK_SECONDS = 3
_WALK_SECONDS = 3


def probe() -> dict[str, Any]:
    """Everything, by part; a part that could not be examined is `{"error": ...}`."""
    parts: dict[str, Callable[[], Any]] = {
        "torch": _torch, "library": _library, "offline": _offline, "hub": _hub, "caches": _caches,
    }  # fmt: skip
    results: dict[str, Any] = {}
    for name, look in parts.items():
        try:
            results[name] = look()
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    return results


def _torch() -> dict[str, Any]:
    import torch

    devices = []
    for i in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(i)
        with torch.cuda.device(i):
            bf16 = torch.cuda.is_bf16_supported()
        devices.append({"name": torch.cuda.get_device_name(i), "memory": total, "free": free, "bf16": bf16})
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "devices": devices,
        "mps": torch.backends.mps.is_available(),
        "threads": torch.get_num_threads(),
        "driver": shutil.which("nvidia-smi") is not None,
    }


def _library() -> dict[str, Any]:
    import dlfa_adapters

    return {"version": dlfa_adapters.__version__, "folder": str(Path(dlfa_adapters.__file__).parent)}


def _offline() -> dict[str, Any]:
    from dlfa_adapters.encoders.offline import offline_state

    return {"state": offline_state()}


def _hub() -> dict[str, Any]:
    """Whether the hub answers, within seconds: looking a name up has no time limit of its own, hence the thread."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return {"endpoint": constants.ENDPOINT, "reachable": None, "reason": "not asked: HF_HUB_OFFLINE is set"}
    reason = [f"does not answer in {NETWORK_SECONDS} s"]

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=NETWORK_SECONDS, allow_redirects=False)
            reason[0] = ""
        except OSError as error:  # what requests raises
            reason[0] = f"does not answer ({type(error).__name__})"

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(NETWORK_SECONDS + 1)
    return {"endpoint": constants.ENDPOINT, "reachable": not reason[0], "reason": reason[0]}


def _caches() -> list[dict[str, Any]]:
    from huggingface_hub import constants

    folders = {"models and data of the hub": Path(constants.HF_HUB_CACHE)}
    try:
        from datasets import config

        folders["prepared datasets"] = Path(config.HF_DATASETS_CACHE)
    except ImportError:
        pass
    try:
        from dlfa_adapters.encoders.offline import cache_dir

        folders["dlfa_adapters"] = cache_dir()
    except ImportError:
        pass
    return [{"name": name, "folder": str(folder), **_size(folder)} for name, folder in folders.items()]


def _size(folder: Path) -> dict[str, Any]:
    """Bytes in a folder, links counted once; as much as can be seen in some seconds."""
    end, total = time.monotonic() + _WALK_SECONDS, 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
        if time.monotonic() > end:
            return {"bytes": total, "whole": False}
    return {"bytes": total, "whole": True}


if __name__ == "__main__":
    print(json.dumps(probe()), flush=True)
    os._exit(0)  # a thread that waits for the network must not hold it up
