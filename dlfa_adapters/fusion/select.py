"""Which hidden states a fusion takes. Layer k is `hidden_states[k]`: 0 the embeddings, 1..L the outputs of blocks."""

from collections.abc import Sequence
from numbers import Integral

from jaxtyping import Float
from torch import Tensor

from dlfa_adapters.fusion.build import FUSIONS

FuseLayer = int | tuple[int, ...]


def check_fuse_layer(fuse_layer: object, num_layers: int) -> tuple[int, ...]:
    """The fuse layers as a tuple, after checking that the encoder has them.

    Args:
        fuse_layer: A layer 0..L, or a tuple or list of distinct ones, fused one after the other. Integers of NumPy
            count as such.
        num_layers: Number of blocks L.

    Returns:
        The layers in the order given, as plain ints, which JSON can store.

    Raises:
        ValueError: If it is not an int or a tuple of ints (bool counts as neither), or out of range.
    """
    layers = tuple(fuse_layer) if isinstance(fuse_layer, (tuple, list)) else (fuse_layer,)
    whole = [int(k) for k in layers if isinstance(k, Integral) and not isinstance(k, bool)]
    if len(whole) != len(layers) or not layers:
        raise ValueError(
            f"fuse_layer must be a layer number 0..{num_layers}, or a tuple of them, got {fuse_layer!r}; "
            f"type e.g. fuse_layer={max(1, round(8 * num_layers / 12))}."
        )
    outside = [k for k in whole if not 0 <= k <= num_layers]
    if outside:
        raise ValueError(
            f"fuse_layer must lie in 0..{num_layers} (0 the embeddings, {num_layers} the last block of this encoder), "
            f"got {outside[0]}."
        )
    if len(set(whole)) != len(whole):
        raise ValueError(f"fuse_layer names a layer twice: {fuse_layer!r}; type each layer once.")
    return tuple(whole)


def state_indices(fusion: str, fuse_layer: tuple[int, ...], num_layers: int) -> tuple[int, ...]:
    """The states that a fusion takes, in calling order; `num_layers` stands for the last hidden state.

    Args:
        fusion: A name of `FUSIONS`.
        fuse_layer: Checked layers, () where the fusion takes none.
        num_layers: Number of blocks L.
    """
    states = FUSIONS[fusion].states
    if states == "all":
        return tuple(range(num_layers + 1))
    lower = fuse_layer if states.startswith("lower") else ()
    return lower if states == "lower" else (*lower, num_layers)


def select_states(
    indices: Sequence[int],
    hidden_states: Sequence[Float[Tensor, "batch seq width"]],
    last_hidden_state: Float[Tensor, "batch seq width"],
) -> tuple[Float[Tensor, "batch seq width"], ...]:
    """Pick the states by index: the one place where that is done. The upper one is always `last_hidden_state`.

    Some encoders norm `last_hidden_state` but not `hidden_states[-1]`, or the other way round, so the two differ.

    Args:
        indices: From `state_indices`.
        hidden_states: The L + 1 states of an encoder.
        last_hidden_state: Its `last_hidden_state`.
    """
    last = len(hidden_states) - 1
    return tuple(last_hidden_state if k == last else hidden_states[k] for k in indices)
