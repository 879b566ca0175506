"""How many models fit side by side."""

from collections.abc import Sequence
from typing import Any

import torch

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.ensemble.batches import HasRow
from dlfa_adapters.sweeps.prepare import Prepared

_SHARE = 0.85
"""Of the memory that is free: the rest is for fragments, and for what the estimate leaves out."""


def bytes_per_member(
    config: Any, rows: Sequence[HasRow], *, batch_size: int, precision: str, device: torch.device
) -> int:
    """About how much memory a member of a stack takes in a step of the longest batch.

    Weight, gradient and Adam's two moments take 16 bytes a parameter in float32, and casts and the gradients of single
    blocks about 6 more. A block keeps about 12 vectors of the encoder's width and 3 of the inner width a piece for the
    backward pass, and on a CPU its attention weights.

    Args:
        config: The encoder's.
        rows: Training data.
        batch_size: Rows of a step.
        precision: `fp32` or `bf16`.
        device: Where.
    """
    width, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    pieces = len({piece for row in rows for piece in row.input_ids})
    parameters = layers * (4 * width * width + 2 * width * inner) + (pieces + config.max_position_embeddings) * width
    seq = max(len(row.input_ids) for row in rows)
    batch = min(batch_size, len(rows))
    kept = (4 if precision == "fp32" else 3) * layers * batch * seq * (12 * width + 3 * inner)
    attention = 12 * layers * batch * config.num_attention_heads * seq * seq if device.type == "cpu" else 0
    return 22 * parameters + kept + attention


def how_many_at_once(prepared: Prepared, runs: int, device: torch.device, wanted: int | None) -> int:
    """How many models to train side by side.

    On a CPU stacking saves no time (measured: the same CPU seconds as one after another), so there it is one.

    Args:
        prepared: The sweep.
        runs: How many there are.
        device: Where they are trained.
        wanted: What the user says; None: as many as fit.

    Raises:
        ConfigError: If the user says less than one.
    """
    if wanted is not None and wanted < 1:
        raise ConfigError(f"expected at least one model at once, got {wanted}; type --at-once 1.")
    if wanted is not None or device.type == "cpu":
        return min(wanted or 1, runs)
    free = torch.cuda.mem_get_info(device)[0]
    model, settings = prepared.encoder.model, prepared.settings
    table = model.base_model.embeddings.word_embeddings.weight
    each = bytes_per_member(
        model.config,
        prepared.train.rows,
        batch_size=settings.steps.batch_size,
        precision=str(settings.machine.precision),
        device=device,
    )
    return max(1, min(runs, int((_SHARE * free - table.numel() * table.element_size()) / each)))
