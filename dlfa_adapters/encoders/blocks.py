"""The parts of an encoder by name: embeddings, blocks, pooler, and what stands beside them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

_EMBEDDINGS = ("embeddings", "embeddings_project", "encoder.rel_embeddings")
"""Below the first block; DeBERTa's relative positions too, which every block reads."""


def blocks_of(model: Any) -> "list[nn.Module]":
    """The blocks of an encoder, block k at index k - 1.

    Args:
        model: A model of adapters.

    Raises:
        ConfigError: If blocks share their weights (ALBERT), so that there is no block by itself.
    """
    encoder = model.base_model
    found = [block for _, block in encoder.iter_layers()]
    if len(found) != encoder.config.num_hidden_layers:
        raise ConfigError(
            f"The {encoder.config.num_hidden_layers} blocks of {encoder.config.model_type} share {len(found)} sets of "
            "weights, so none can be frozen by itself; type --tuning full, lora or bottleneck."
        )
    return found


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

    Args:
        name: Name of the parameter in the model.
        block_numbers: Name of each block, with a dot at its end, to its number from 1.
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
