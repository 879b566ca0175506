"""Which parameters of a model learn, and how many, by part of the model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlfa_adapters.encoders.parts import part_of, pooler_of

if TYPE_CHECKING:
    from torch import nn


def freeze(module: "nn.Module | None") -> None:
    """No parameter of the module learns."""
    if module is not None:
        module.requires_grad_(False)


def freeze_unused(model: Any, head_name: str) -> None:
    """Freeze what no loss of this head can reach: the pooler, and blocks above the highest state that is fused.

    Several processes need this: a parameter that gets no gradient on its own account is an error there.
    """
    freeze(pooler_of(model))
    encoder = model.base_model
    highest = max(model.heads[head_name].indices)
    found = [block for _, block in encoder.iter_layers()]
    if len(found) == encoder.config.num_hidden_layers:  # not where blocks share their weights
        for block in found[highest:]:
            freeze(block)


def frozen_modules(model: "nn.Module") -> "list[nn.Module]":
    """The largest modules that have parameters of which none learns; training keeps them in eval mode.

    Their dropout is then off, and running statistics of a frozen head stay as they are.
    """
    if any(True for _ in model.parameters()) and not any(p.requires_grad for p in model.parameters()):
        return [model]
    return [frozen for child in model.children() for frozen in frozen_modules(child)]


@dataclass(frozen=True)
class PartSize:
    """A row of the report.

    Attributes:
        part: `embeddings`, `block 3`, `adapters`, `fusion`, ...
        trainable: Parameters that learn.
        total: All parameters of the part.
    """

    part: str
    trainable: int
    total: int


def parameter_report(model: Any) -> list[PartSize]:
    """Trainable and all parameters of each part, in the order of the model; a shared parameter counts once.

    Args:
        model: A model that a tuning has prepared.
    """
    blocks = _block_names(model)
    sizes: dict[str, list[int]] = {}
    for name, parameter in model.named_parameters():
        if ".original_module." in name:  # PEFT's copy of what it trains in its stead
            continue
        row = sizes.setdefault(part_of(name, blocks), [0, 0])
        row[0] += parameter.numel() if parameter.requires_grad else 0
        row[1] += parameter.numel()
    return [PartSize(part, *row) for part, row in sizes.items()]


def trainable_share(report: list[PartSize]) -> tuple[int, int]:
    """Trainable and all parameters."""
    return sum(row.trainable for row in report), sum(row.total for row in report)


def _block_names(model: Any) -> dict[str, int]:
    """Name of each block, with a dot at its end, to its number: lists of modules as long as the encoder is deep."""
    depth = getattr(model.config, "num_hidden_layers", 0)
    numbers = {}
    for name, module in model.named_modules():
        if type(module).__name__ == "ModuleList" and len(module) == depth and name.rpartition(".")[2] in _LISTS:
            numbers.update({f"{name}.{i}.": i + 1 for i in range(depth)})
    return numbers


_LISTS = ("layer", "layers", "block", "albert_layers")
"""What encoders call the list of their blocks."""
