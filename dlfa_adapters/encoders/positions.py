"""How long a row an encoder takes."""

from typing import Any

from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.ground.errors import ConfigError


def most_positions(model: Any) -> int | None:
    """The longest row that an encoder takes, special tokens included; None for relative positions, which take any."""
    from torch.nn import Embedding

    table = getattr(getattr(encoder_of(model), "embeddings", None), "position_embeddings", None)
    if not isinstance(table, Embedding):
        return None
    padding = table.padding_idx  # RoBERTa's kind counts from behind it
    return int(table.num_embeddings - (0 if padding is None else padding + 1))


def fitting_length(model: Any, max_length: int, *, was_given: bool) -> tuple[int, list[str]]:
    """The most pieces of a row: a length that was given must fit, a default is cut to the positions of the encoder.

    Returns:
        The length, and where a default was cut a sentence that says so.

    Raises:
        ConfigError: If it was given and does not fit, naming both lengths.
    """
    most = most_positions(model)
    if most is None or max_length <= most:
        return max_length, []
    if was_given:
        raise ConfigError(
            f"max_length is {max_length}, but this encoder has {most} positions; type --max-length {most} "
            f"(max_length={most})."
        )
    return most, [f"This encoder has {most} positions, so rows have at most {most} pieces instead of {max_length}."]
