"""The states that linear classifiers read and no others: of the first piece of each word, or of the first of a text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.windows import Window
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.frozen.examples import TaggedStates


def unit_states(
    model: Any,
    examples: Examples,
    pad_token_id: int | None,
    layers: Sequence[int] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> TaggedStates:
    """Run a frozen encoder once, and keep in memory one token for each word or text.

    A linear classifier on one layer learns from them as from the states of all tokens, which are several times as many.

    Args:
        model: See `compute_states`.
        examples: Data of a kind whose units have a label each.
        pad_token_id: The tokenizer's.
        layers: Which states; default: all.
        on_progress: Called with the number of rows that were just done.

    Returns:
        The data, a window having a token for each of its words, in their order. Windows without a word are left out.
        States are handed out on the encoder's device, and kept there unless it is a GPU whose memory they would fill.
    """
    rows = [row for row, window in enumerate(examples.windows) if window.words]
    windows = [examples.windows[row] for row in rows]
    kept = [[start for start, _ in window.pieces] for window in windows]
    states = compute_states(
        model,
        [examples.rows[row] for row in rows],
        pad_token_id,
        layers=layers,
        kept=kept,
        cache_on=_room(model, sum(map(len, kept)), layers),
        on_progress=on_progress,
    )
    states = replace(states, target=torch.device(model.base_model.device))
    short = [
        Window(each.sentence, [], each.words, tuple((i, i + 1) for i in range(len(each.words)))) for each in windows
    ]
    return TaggedStates(examples.words, examples.tags, short, AlignmentCounts(), states)


def _room(model: Any, tokens: int, layers: Sequence[int] | None) -> torch.device:
    """The encoder's device; the CPU, if it is a GPU and the states would take more than half of its free memory."""
    encoder = model.base_model
    device = torch.device(encoder.device)
    number = encoder.config.num_hidden_layers + 1 if layers is None else len(layers)
    size = 2 * tokens * number * encoder.config.hidden_size
    fits = device.type != "cuda" or 2 * size <= torch.cuda.mem_get_info(device)[0]
    return device if fits else torch.device("cpu")
