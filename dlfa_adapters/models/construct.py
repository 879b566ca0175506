"""From what a user types in `from_encoder` to a configuration and an encoder, in 4 bits if requested."""

import difflib
import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from transformers import PreTrainedModel

from dlfa_adapters.encoders.plain import encoder_class, plain_encoder, read_encoder, read_encoder_config
from dlfa_adapters.fusion.options import options_of
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.models.config import DLFAConfig, encoder_size
from dlfa_adapters.tasks import Task, get_task, label_names
from dlfa_adapters.tasks.head_options import HeadOptions, resolve_fuse_layer
from dlfa_adapters.tasks.head_options import split_options as split_head

CONFIG_OPTIONS = frozenset(inspect.signature(DLFAConfig.__init__).parameters) - {
    "self",
    "kwargs",
    "encoder_config",
    "fuse_layer",
    "task",
    "encoder_name",
    "dlfa_format",
} | {"num_labels", "id2label", "problem_type"}
"""Options of `from_encoder` that go to `DLFAConfig`, besides those of the head."""

SOURCE_OPTIONS = frozenset({"cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token"})
"""Options that say where the encoder is; they go to its configuration and its weights."""

LOADING_OPTIONS = SOURCE_OPTIONS | {
    "attn_implementation",
    "device_map",
    "dtype",
    "max_memory",
    "offload_folder",
    "quantization_config",
    "torch_dtype",
    "use_safetensors",
    "variant",
}
"""Options of `from_encoder` that go to the encoder's `from_pretrained`."""


def plan(
    kind: str,
    encoder: Any,
    fuse_layer: Any,
    task: str | Task | None,
    load_in_4bit: bool,
    options: Mapping[str, Any],
) -> tuple[DLFAConfig, Callable[[], Any]]:
    """Check everything that can be checked without the encoder's weights, which may be gigabytes.

    Returns:
        The configuration, and what loads the encoder.

    Raises:
        ConfigError: If a value cannot work.
        UnsupportedModelError: If there is no class for the encoder.
        MissingExtraError: If 4 bits are requested and bitsandbytes is not installed.
    """
    own, loading = split_construction(kind, options)
    loading |= four_bits() if load_in_4bit else {}
    known = get_task(task) if isinstance(task, str) else task
    if known is not None and known.kind != kind:
        right = kind_named(known.kind).plain_class
        raise ConfigError(
            f"{known.name!r} is a {known.kind} task; type {right}.from_encoder(..., task={known.name!r})."
        )
    encoder_config, name, load = _source(encoder, loading)
    id2label = label_names(known, own.pop("num_labels", None), own.pop("id2label", None))
    layer = resolve_fuse_layer(known, fuse_layer, own.get("fusion", "dlfa"), encoder_size(encoder_config)[0])
    own.setdefault("classifier_layers", kind_named(kind).classifier_layers)
    config = DLFAConfig(
        encoder_config,
        layer,
        **own,
        id2label=id2label,
        task=task.name if isinstance(task, Task) else task,
        encoder_name=name,
    )
    return config, load


def split_construction(kind: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of `DLFAConfig` for a kind, and options for loading the encoder.

    Raises:
        ConfigError: If a name is neither, with the closest that is.
    """
    own, others = split_head(options)
    of_config = _config_options(kind)
    known = [*HeadOptions.known(options.get("fusion", "dlfa")), *of_config]
    for name in others:
        if name not in of_config | LOADING_OPTIONS:
            close = difflib.get_close_matches(name, {*known, *LOADING_OPTIONS, "task"}, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}."
            raise ConfigError(f"from_encoder has no option {name!r}; {hint}")
    own |= {name: value for name, value in others.items() if name in of_config}
    return own, {name: value for name, value in others.items() if name not in of_config}


def _config_options(kind: str) -> frozenset[str]:
    """`CONFIG_OPTIONS`; of a kind with a head of its own, that head's in place of the linear classifier's."""
    known = kind_named(kind)
    if known.own_head is None:
        return CONFIG_OPTIONS
    linear = {name for name in CONFIG_OPTIONS if name.startswith("classifier_")}
    return CONFIG_OPTIONS - linear | options_of(known.own_heads[known.own_head]).keys()


def _source(encoder: Any, loading: dict[str, Any]) -> tuple[Any, str | None, Callable[[], Any]]:
    """The encoder's configuration, its name, and what loads it."""
    if isinstance(encoder, PreTrainedModel):
        if loading:
            raise ConfigError(f"{', '.join(loading)}: for loading by name, but a loaded model was given; leave it out.")
        encoder_class(encoder.base_model.config)
        return encoder.base_model.config, encoder.name_or_path or None, partial(plain_encoder, encoder)
    if not isinstance(encoder, (str, os.PathLike)):
        raise ConfigError(f"encoder must be a name, a folder or a model of Transformers, got {type(encoder).__name__}.")
    name = os.fspath(encoder)
    config = read_encoder_config(name, **{key: value for key, value in loading.items() if key in SOURCE_OPTIONS})
    encoder_class(config)
    return config, name, partial(read_encoder, name, config, **loading)


def four_bits() -> dict[str, Any]:
    """Options of `from_pretrained` for 4-bit weights: NF4 with double quantisation, computing in bfloat16.

    These are the paper's choices. Fusion and classifier, where they are part of what is loaded, stay as they are.

    Raises:
        MissingExtraError: If bitsandbytes is not installed.
        ConfigError: If there is no GPU.
    """
    if find_spec("bitsandbytes") is None:
        raise MissingExtraError("load_in_4bit=True needs bitsandbytes; type: pip install bitsandbytes.")
    if not torch.cuda.is_available():
        raise ConfigError("load_in_4bit=True needs a GPU, and torch finds none; leave it out.")
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
        llm_int8_skip_modules=["classifier"],
    )
    return {"quantization_config": config, "dtype": torch.bfloat16, "device_map": {"": torch.cuda.current_device()}}
