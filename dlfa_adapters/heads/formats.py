"""In which format weights are written and read where the caller does not say.

Upstream writes pickles unless it is told otherwise, and then reads nothing else. So an adapter, head, AdapterFusion
layer or setup without a DLFA head is written as a pickle, or plain `adapters` could not load it; reading one with
`weights_only=True`, as upstream does, runs no code. Whatever holds a DLFA head is written as safetensors.
"""

import os
from typing import Any

from adapters.utils import HEAD_CONFIG_NAME

from dlfa_adapters.heads.head import is_dlfa_head
from dlfa_adapters.heads.saved_config import is_dlfa, read_head_config


def write_safetensors(wanted: bool | None, head: Any = None) -> bool:
    """Whether safetensors are written.

    Args:
        wanted: What the caller said, or None.
        head: The head that is written, alone or beside an adapter or AdapterFusion layer.
    """
    return is_dlfa_head(head) if wanted is None else wanted


def read_safetensors(wanted: bool | None, folder: str | os.PathLike[str], pickle: str) -> bool:
    """Whether safetensors are read where there are any; where there are none the pickle is.

    Beside a DLFA head and in what comes from a hub they are preferred. In any other folder the pickle is, which is what
    upstream reads, and what was written last by default.

    Args:
        wanted: What the caller said, or None.
        folder: The folder, or a name on a hub.
        pickle: Name of the file that upstream reads.
    """
    if wanted is not None:
        return wanted
    head = read_head_config(folder) if os.path.isfile(os.path.join(folder, HEAD_CONFIG_NAME)) else None
    return (head is not None and is_dlfa(head)) or not os.path.isfile(os.path.join(folder, pickle))
