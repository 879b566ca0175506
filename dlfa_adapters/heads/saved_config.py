"""What a saved head says of itself, whether it fits a model, and in which format weights are written and read.

Upstream writes pickles by default, and then reads nothing else. So an adapter, head, AdapterFusion layer or setup
without a DLFA head is written as a pickle, or plain `adapters` could not load it; reading one with `weights_only=True`,
as upstream does, runs no code. Whatever holds a DLFA head is written as safetensors.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from dlfa_adapters.encoders.parts import check_encoder
from dlfa_adapters.ground.errors import RunError, mend, wrong_in
from dlfa_adapters.heads.schema import HEAD_TYPE, check_head_name, head_schema

HEAD_CONFIG_NAME = "head_config.json"  # as upstream calls it


def read_head_config(directory: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The configuration of the head saved in a folder, or None where there is none.

    Raises:
        RunError: If the file is not complete.
    """
    path = os.path.join(directory, HEAD_CONFIG_NAME)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path!r} is not a whole JSON file ({error}); save the head again.") from error
    if not isinstance(config, dict):
        raise RunError(mend(path, "it is no object of JSON", "save the head again"))
    options = config.get("config")
    flexible = str(config.get("model_class")).endswith(("AdapterModel", "ModelWithHeads"))
    if flexible and not (isinstance(options, dict) and isinstance(options.get("head_type"), str)):
        raise RunError(mend(path, "it has no config.head_type", "save the head again"))
    if isinstance(options, dict) and "inner_head_type" in options and not is_dlfa(config):
        raise RunError(mend(path, f"its config.head_type is not {HEAD_TYPE!r}", "save the head again"))
    if is_dlfa(config) and (wrong := wrong_in(config, head_schema)):
        raise RunError(mend(path, wrong, "save the head again"))
    return config


def check_no_stray_head(directory: str | os.PathLike[str]) -> None:
    """Refuse weights of a head without its configuration: nothing says what head they are of.

    Raises:
        RunError: If there are any.
    """
    from adapters.utils import HEAD_WEIGHTS_NAME, SAFE_HEAD_WEIGHTS_NAME

    for name in (SAFE_HEAD_WEIGHTS_NAME, HEAD_WEIGHTS_NAME):
        if os.path.isfile(os.path.join(directory, name)):
            raise RunError(
                f"{os.fspath(directory)!r} has weights of a head ({name}) but no {HEAD_CONFIG_NAME}, which says what "
                "head it is; save the head again, or type with_head=False to load the adapter without it."
            )


def is_dlfa(config: dict[str, Any]) -> bool:
    """Whether a saved head is one of ours."""
    head = config.get("config")
    return isinstance(head, dict) and head.get("head_type") == HEAD_TYPE


def name_of_adapter(directory: str | os.PathLike[str]) -> str | None:
    """Name of the adapter saved in the same folder, if there is one."""
    from adapters.utils import CONFIG_NAME

    path = os.path.join(directory, CONFIG_NAME)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("name")


def check_saved_head(model: Any, name: str, config: dict[str, Any], id2label: Mapping[int, str] | None = None) -> None:
    """Refuse a saved DLFA head that does not fit the model, or the head of that name that it would replace.

    `config` is from `read_head_config`, `id2label` what it would get instead of its own label names.

    Raises:
        RunError: Naming both values.
        ConfigError: If the name cannot be a head's.
    """
    check_head_name(name)
    head = config["config"]
    check_encoder(name, head.get("encoder", {}), model.config)
    size = _size(head)
    if id2label and len(id2label) != size:
        raise RunError(f"The saved head has {size} labels, but id2label names {len(id2label)}; type {size} names.")
    if name in model.heads and _size(model.heads[name].config) != size:
        raise RunError(
            f"The saved head has {size} labels, the head {name!r} of this model {_size(model.heads[name].config)}; "
            f"type load_as= to load it under another name, or model.delete_head({name!r}) first."
        )


def _size(head: dict[str, Any]) -> Any:
    return head.get("num_choices") or head.get("num_labels")


def write_safetensors(wanted: bool | None, head: Any = None) -> bool:
    """Whether safetensors are written: as is `wanted`; where that is None, only with a DLFA head."""
    from dlfa_adapters.heads.head import is_dlfa_head

    return is_dlfa_head(head) if wanted is None else wanted


def read_safetensors(wanted: bool | None, folder: str | os.PathLike[str], pickle: str) -> bool:
    """Whether safetensors are read where there are any; where there are none `pickle` is, the file that upstream reads.

    Beside a DLFA head and in what comes from a hub they are preferred. In any other folder the pickle is, which is what
    upstream reads, and what was written last by default.
    """
    if wanted is not None:
        return wanted
    head = read_head_config(folder) if os.path.isfile(os.path.join(folder, HEAD_CONFIG_NAME)) else None
    return (head is not None and is_dlfa(head)) or not os.path.isfile(os.path.join(folder, pickle))
