"""Running a frozen encoder once over all windows: its states in 16 bits, or the mean of those of each sentence."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.states import Change, HiddenStates, states_of
from dlfa_adapters.ground.errors import RunError

Allocate = Callable[[tuple[int, int, int], torch.dtype], Tensor]
"""Called with shape and type; gives the tensor that states are written into."""


def compute_states(
    model: Any,
    windows: Sequence[HasInputIds],
    pad_token_id: int | None,
    *,
    layers: Sequence[int] | None = None,
    changes: Sequence[Change] = (),
    exact: bool = False,
    max_tokens: int | None = None,
    cache_on: str | torch.device = "cpu",
    allocate: Allocate | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> HiddenStates:
    """Run a frozen encoder once over all windows, by length under a token budget.

    States are rounded to float16, or to bfloat16 if one of them is too large for that, unless they must be exact.

    Args:
        model: An encoder (or adapter model, whose heads are left out) in eval mode.
        windows: What to encode.
        pad_token_id: The tokenizer's.
        layers: Which states; default: all, 0..L.
        changes: See `states_of`.
        exact: Cache them in float32, for an encoder of which a part goes on learning from them.
        max_tokens: Positions in a batch, padding included; default: by the size of the states.
        cache_on: Device for the states: width * 2 bytes a token and layer, width * 4 if they are exact.
        allocate: Makes the tensor for the states, e.g. in a file; `cache_on` is then not looked at.
        on_progress: Called with the number of windows that were just done.

    Returns:
        The states, in the order of `windows`.

    Raises:
        RunError: If the encoder gives states that are not finite numbers.
    """
    config = model.base_model.config
    chosen = tuple(range(config.num_hidden_layers + 1) if layers is None else sorted(set(layers)))
    offsets = [0, *accumulate(len(window.input_ids) for window in windows)]
    shape = (offsets[-1], len(chosen), config.hidden_size)
    batches = token_budget_batches(
        [len(window.input_ids) for window in windows], max_tokens or tokens_at_once(model, config)
    )
    allocate = allocate or (lambda shape, dtype: torch.empty(shape, dtype=dtype, device=cache_on))
    done = 0
    for dtype in (torch.float32,) if exact else (torch.float16, torch.bfloat16):
        tokens = allocate(shape, dtype)
        for number, batch in enumerate(batches):
            states = states_of(model, [windows[i] for i in batch], pad_token_id, chosen, changes).to(dtype)
            if not states.isfinite().all():
                break
            parts = states.to(tokens.device).split([offsets[i + 1] - offsets[i] for i in batch])
            for index, rows in zip(batch, parts, strict=True):
                tokens[offsets[index] : offsets[index + 1]] = rows
            if on_progress is not None and number >= done:
                done = number + 1
                on_progress(len(batch))
        else:
            return HiddenStates(tokens, offsets, chosen, config.num_hidden_layers)
    raise RunError("The encoder gives hidden states that are not finite numbers; its weights may be damaged.")


def tokens_at_once(model: Any, config: Any) -> int:
    """Positions in a batch: 4096 on a CPU, and on a GPU as many as have all their states in a quarter of a GB."""
    if model.base_model.device.type == "cpu":
        return 4096
    return max(1024, 2**28 // (4 * config.hidden_size * (config.num_hidden_layers + 1)))


def sentence_means(
    model: Any,
    sentences: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
) -> Tensor:
    """The mean state over the tokens of each sentence.

    Args:
        model: The encoder, in eval mode.
        sentences: From `encode_texts`.
        pad_token_id: The tokenizer's.
        layers: Which states.
        on_progress: Called with the number of sentences that were just done.

    Returns:
        (layers, sentences, width) in float32.
    """
    config = model.base_model.config
    lengths = [len(sentence.input_ids) for sentence in sentences]
    means = torch.empty(len(layers), len(sentences), config.hidden_size)
    for batch in token_budget_batches(lengths, tokens_at_once(model, config)):
        states = states_of(model, [sentences[i] for i in batch], pad_token_id, layers).float()
        for i, tokens in zip(batch, states.split([lengths[i] for i in batch]), strict=True):
            means[:, i] = tokens.mean(0).cpu()
        if on_progress is not None:
            on_progress(len(batch))
    return means


def parallel_cosine(first: Tensor, second: Tensor) -> Tensor:
    """The mean cosine of sentences and their translations in each layer (Chen et al. 2022, arXiv 2205.08497, Table VI).

    Args:
        first: Means of the sentences, (layers, sentences, width).
        second: Means of their translations, likewise.

    Returns:
        (layers,).
    """
    return torch.nn.functional.cosine_similarity(first, second, dim=2).mean(1)
