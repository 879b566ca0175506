"""The encoder below the fusion: its class, how it is built and loaded, and whether its states can be fused."""

import copy
import inspect
import logging
import os
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, PreTrainedModel
from transformers.modeling_utils import no_init_weights
from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING

from dlfa_adapters.ground.environment import no_answer, only_cached
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError, is_a_librarys

_loading_log = logging.getLogger("transformers.modeling_utils")

NAMED_ENCODERS: dict[str, Callable[[], Any]] = {}
"""Encoders by a name of this library's own, `offline`; `dlfa_adapters.load_models` fills it."""


def encoder_class(config: Any) -> type[Any]:
    """The class of the bare encoder of a configuration: for T5's kind the encoder alone.

    Raises:
        UnsupportedModelError: If there is none.
    """
    if type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING:
        entry = MODEL_FOR_TEXT_ENCODING_MAPPING[type(config)]
    elif type(config) in MODEL_MAPPING and not config.is_encoder_decoder:
        entry = MODEL_MAPPING[type(config)]
    else:
        raise UnsupportedModelError(
            f"Transformers has no class for the encoder alone of {config.model_type!r}; give a text encoder such as "
            "bert-base-multilingual-cased, xlm-roberta-base or google/mt5-base."
        )
    return entry[0] if isinstance(entry, tuple) else entry


def build_encoder(config: Any) -> Any:
    """An encoder with weights drawn anew, without a pooler: nothing reads it, and it would never get a gradient."""
    cls = encoder_class(config)
    return cls._from_config(config, **_without_pooler(cls))


def read_encoder_config(name: str, **options: Any) -> Any:
    """The configuration of an encoder on the hub or in a folder.

    Raises:
        ConfigError: If there is none, or it is a DLFA model already.
    """
    local = {"local_files_only": True} if only_cached(name) else {}
    try:
        config = AutoConfig.from_pretrained(name, **{**options, **local})
    except Exception as error:  # for a damaged file Transformers raises whatever it stumbles over
        if not is_a_librarys(error):
            raise
        raise _not_found(name, error) from error
    if config.model_type == "dlfa":
        raise ConfigError(f"{name!r} is a DLFA model already; type from_pretrained({name!r}).")
    return config


def read_encoder(name: str, config: Any, **options: Any) -> Any:
    """The encoder with its weights, in eval mode.

    Raises:
        ConfigError: If there are no such weights.
    """
    cls = encoder_class(config)
    local = {"local_files_only": True} if only_cached(name) else {}
    _loading_log.addFilter(_not_about_the_pooler)
    try:
        return cls.from_pretrained(name, config=config, **_without_pooler(cls), **{**options, **local})
    except Exception as error:
        if not is_a_librarys(error):
            raise
        raise _not_found(name, error) from error
    finally:
        _loading_log.removeFilter(_not_about_the_pooler)


def plain_encoder(model: PreTrainedModel) -> Any:
    """The bare encoder of a model: of a Transformers model itself, of another library's subclass a copy.

    Args:
        model: A bare encoder, or a model for a task around one. Of a model of `adapters` only the encoder's own
            weights are copied.

    Raises:
        RunError: If weights of the encoder are not in the model.
        UnsupportedModelError: If they are not, and the states that it gives cannot be fused.
    """
    base: Any = model.base_model
    cls = encoder_class(base.config)
    if type(base) is cls:
        if _without_pooler(cls):
            base.pooler = None
        return base
    state, config = base.state_dict(), copy.deepcopy(base.config)
    for name in ("adapters", "prediction_heads"):  # adapters keeps them in the encoder's configuration
        if hasattr(config, name):
            delattr(config, name)
    with no_init_weights():
        encoder = build_encoder(config).to(device=base.device, dtype=base.dtype)
    missing = [name for name in encoder.state_dict() if name not in state]
    if missing:
        if cls.__module__.partition(".")[0] == type(base).__module__.partition(".")[0]:
            try_encoder(base)  # another class of Transformers, such as FunnelBaseModel: its states say more
        raise RunError(f"{type(model).__name__} lacks weights of {cls.__name__}: {', '.join(missing[:3])}.")
    encoder.load_state_dict({name: state[name] for name in encoder.state_dict()})
    return encoder.train(base.training)


def probe_inputs(config: Any, device: Any = None) -> dict[str, Tensor]:
    """Two texts of 7 tokens that differ in the last one, to try a model with. The odd length shows padding."""
    ids = torch.arange(5, 12, device=device).repeat(2, 1)
    ids[1, -1] += 1
    return {"input_ids": ids % config.vocab_size, "attention_mask": torch.ones_like(ids)}


@torch.no_grad()
def try_encoder(encoder: Any) -> None:
    """Run the encoder once on a few tokens, and refuse it if its states cannot be fused.

    Raises:
        UnsupportedModelError: If it does not run on token ids, its states are not of one size, or it reads from left to
            right.
    """
    kind, training = encoder.config.model_type, encoder.training
    try:
        outputs = encoder.eval()(**probe_inputs(encoder.config, encoder.device), output_hidden_states=True)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise UnsupportedModelError(f"{kind!r} does not run on token ids alone: {error}") from error
    finally:
        encoder.train(training)
    check_states(encoder.config, outputs)
    if torch.equal(outputs.last_hidden_state[0, 0], outputs.last_hidden_state[1, 0]):
        raise UnsupportedModelError(
            f"{kind!r} reads from left to right, so that a text's first token sees nothing but itself; give an encoder."
        )


def check_states(config: Any, outputs: Any) -> None:
    """Refuse the output of an encoder, with `hidden_states`, whose states do not belong to the same tokens.

    Raises:
        UnsupportedModelError: If there are not L + 1 states of the size of the last one.
    """
    last, states = outputs.last_hidden_state, outputs.hidden_states
    sizes = [tuple(state.shape[1:]) for state in states or ()]
    if sizes == [tuple(last.shape[1:])] * (config.num_hidden_layers + 1):
        return
    raise UnsupportedModelError(
        f"{config.model_type!r} cannot be fused: fusion adds states of the same tokens, so it needs "
        f"{config.num_hidden_layers + 1} states of one length and width, and got {len(sizes)}, (length, width) "
        f"{', '.join(map(str, dict.fromkeys(sizes)))}; give an encoder that keeps the length, such as "
        "bert-base-multilingual-cased."
    )


def _without_pooler(cls: type[Any]) -> dict[str, bool]:
    return {"add_pooling_layer": False} if "add_pooling_layer" in inspect.signature(cls.__init__).parameters else {}


def _not_found(name: str | os.PathLike[str], error: Exception) -> ConfigError:
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    if only_cached(str(name)):
        first = f"it is no folder and not in the cache, and {no_answer()}"
    return ConfigError(f"The encoder {str(name)!r} cannot be loaded ({first}); give a folder or a name on the hub.")


def _not_about_the_pooler(record: logging.LogRecord) -> bool:
    """Whether Transformers says something else than that it leaves out the pooler, which nothing here reads."""
    _, phrase, names = record.getMessage().partition(" were not used when initializing ")
    unused = re.findall(r"'([^']+)'", names.partition("]")[0])
    return not (phrase and unused and all(name.split(".")[0] == "pooler" for name in unused))
