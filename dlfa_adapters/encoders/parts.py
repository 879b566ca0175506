"""What an encoder is: type, depth, width and fingerprint, as saved heads know it; and its parts by name."""

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.errors import ConfigError, RunError

if TYPE_CHECKING:
    from torch import nn

_ADDED = ("adapter", "lora", "prefix_tuning", "prompt_tunings")
"""Parts of the names of parameters that an encoder was given besides its own."""

_EMBEDDINGS = ("embeddings", "embeddings_project", "encoder.rel_embeddings", "encoder.LayerNorm")
"""Below the first block; DeBERTa's relative positions and their norm too, which every block reads."""


def encoder_of(model: Any) -> Any:
    """The bare encoder in a model of adapters, of Transformers or of this library, in PEFT's wrapper or without one."""
    return (model.get_base_model() if hasattr(model, "get_base_model") else model).base_model


def blocks_of(model: Any) -> "list[nn.Module]":
    """The blocks of an encoder (see `encoder_of`), block k at index k - 1.

    Raises:
        ConfigError: If blocks share their weights (ALBERT), so that there is no block by itself.
    """
    encoder = encoder_of(model)
    blocks = _blocks(encoder)
    if len(blocks) != encoder.config.num_hidden_layers:
        raise ConfigError(
            f"The {encoder.config.num_hidden_layers} blocks of {encoder.config.model_type} share {len(blocks)} sets of "
            "weights, so none can be frozen or left out by itself; type --tuning full, lora or bottleneck for all."
        )
    return blocks


def _blocks(encoder: Any) -> "list[nn.Module]":
    """The blocks, as adapters lists them, or the first list of as many modules as there are blocks."""
    from torch import nn

    if hasattr(encoder, "iter_layers"):
        return [block for _, block in encoder.iter_layers()]
    lists = (module for module in encoder.modules() if isinstance(module, nn.ModuleList))
    return list(next((each for each in lists if len(each) == encoder.config.num_hidden_layers), ()))


def embeddings_of(model: Any) -> "Iterator[nn.Module]":
    """What comes before the first block, and is read by all."""
    for name, module in model.base_model.named_modules():
        if name in _EMBEDDINGS:
            yield module


def pooler_of(model: Any) -> "nn.Module | None":
    """The pooler, which no DLFA head reads, or None."""
    from torch import nn

    pooler = getattr(model.base_model, "pooler", None)
    return pooler if isinstance(pooler, nn.Module) else None


def part_of(name: str, block_numbers: dict[str, int]) -> str:
    """To which part of the model a parameter belongs, for tables.

    `block_numbers` leads from the name of each block, with a dot at its end, to its number from 1.
    """
    if ".fusion." in name:
        return "fusion"
    if name.startswith("heads.") or ".classifier." in name:
        return "classifier"
    if any(part in name for part in ("lora_", ".loras.")):
        return "LoRA"
    if ".adapters." in name or "invertible_adapters" in name or "shared_parameters" in name:
        return "adapters"
    for block, number in block_numbers.items():
        if block in name:
            return f"block {number}"
    return "embeddings" if "embeddings" in name else "rest of the encoder"


def describe_encoder(config: Any) -> dict[str, Any]:
    """The encoder of a configuration of Transformers as it stands in a saved head."""
    return {
        "model_type": config.model_type,
        "num_layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "name": getattr(config, "name_or_path", "") or "",
    }


def fingerprint(model: Any, *, pooler: bool = True) -> str:
    """A short hash of an encoder: names, shapes and the first 64 values of every weight, without adapters and heads.

    Cheap enough for every load, and different for other weights: retraining moves every tensor.

    Args:
        model: A model of adapters.
        pooler: Whether the pooler counts. Where a checkpoint has none, `AutoAdapterModel` draws one.
    """
    left_out = (*_ADDED, "prompt_tuning", *(() if pooler else ("pooler",)))
    return _hash(model, lambda name: not any(part in name for part in left_out))


def fingerprint_of_adapters(model: Any) -> str:
    """The same of what an encoder was given besides, adapters or LoRA, and of which is active; "" for none."""
    if not any(part in name for name, _ in model.base_model.named_parameters() for part in _ADDED):
        return ""
    active = getattr(model, "active_adapters", None)
    return f"{_hash(model, lambda name: any(part in name for part in _ADDED))} {'' if callable(active) else active}"


def layer_fingerprints(model: Any) -> list[str]:
    """The same for the states of each layer 0..L: of the weights that they depend on, and no others.

    So a state below blocks that learnt is known to be what it was. Behind a `+` stands the hash of the active adapters,
    LoRA or PEFT's, as far as they lie below.

    Args:
        model: See `encoder_of`.
    """
    encoder, active = encoder_of(model), _active_adapters(model)
    depth, numbers = encoder.config.num_hidden_layers, _block_numbers(encoder)
    own, added = hashlib.sha256(), hashlib.sha256()
    by_layer: list[list[tuple[str, Any]]] = [[] for _ in range(depth + 1)]
    for name, weight in sorted(encoder.named_parameters()):
        if not any(part in name for part in ("pooler", "prompt_tuning.base")):
            by_layer[numbers(name)].append((name, weight))
    fingerprints, has_added = [], False
    for weights in by_layer:
        for name, weight in weights:
            if not any(part in name for part in _ADDED):
                _add(own, name.replace(".base_layer.", "."), weight)
            elif active is None or any(f".{each}." in name for each in active):
                _add(added, name, weight)
                has_added = True
        fingerprints.append(own.hexdigest()[:16] + (f"+{added.hexdigest()[:16]}" if has_added else ""))
    return fingerprints


def _active_adapters(model: Any) -> set[str] | None:
    """Names of the adapters that are active in a model of adapters; None elsewhere, where all are (PEFT)."""
    active: Any = getattr(model, "active_adapters", None)
    if callable(active) or hasattr(model, "get_base_model"):
        return None
    return set(active.flatten()) if hasattr(active, "flatten") else set()


def _block_numbers(encoder: Any) -> Callable[[str], int]:
    """A function of the name of a parameter: its block; 0 for what is read before the blocks, L for what comes after.

    Of blocks that share their weights all are 0.
    """
    blocks, depth = _blocks(encoder), encoder.config.num_hidden_layers
    if len(blocks) != depth:
        return lambda name: 0
    numbers = {id(block): number for number, block in enumerate(blocks, 1)}
    names = {f"{name}.": numbers[id(module)] for name, module in encoder.named_modules() if id(module) in numbers}
    order = [name for name, _ in encoder.named_parameters()]
    first = next(i for i, name in enumerate(order) if name.startswith(tuple(names)))
    before = set(order[:first])

    def number(name: str) -> int:
        inside = [k for start, k in names.items() if name.startswith(start)]
        is_read_first = name in before or name.startswith(_EMBEDDINGS) or any(part in name for part in _ADDED)
        return inside[0] if inside else 0 if is_read_first else depth

    return number


def _hash(model: Any, belongs: Callable[[str], bool]) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(model.base_model.named_parameters()):
        if belongs(name):
            _add(digest, name, weight)
    return digest.hexdigest()[:16]


def _add(digest: Any, name: str, weight: Any) -> None:
    values = weight.detach().flatten()[:64].float().cpu().numpy()
    digest.update(f"{name} {tuple(weight.shape)}".encode() + values.tobytes())


def check_encoder(head_name: str, saved: dict[str, Any], config: Any) -> None:
    """Refuse a saved head whose encoder, as `describe_encoder` had it, is of another kind than that of `config`.

    Raises:
        RunError: Naming both encoders. The checkpoint's name may differ: that is what fine-tuning does.
    """
    here = describe_encoder(config)
    if any(saved.get(key) != here[key] for key in ("model_type", "num_layers", "hidden_size")):
        name = saved.get("name") or "the model that it was saved from"
        raise RunError(
            f"Head {head_name!r} belongs to {_sentence(saved)}, but this model is {_sentence(here)}; load it into "
            f"AutoAdapterModel.from_pretrained({name!r}) or another model of that kind."
        )


def _sentence(encoder: dict[str, Any]) -> str:
    return (
        f"a {encoder.get('model_type')} encoder with {encoder.get('num_layers')} layers "
        f"of width {encoder.get('hidden_size')}"
    )
