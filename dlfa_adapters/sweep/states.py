"""The hidden states of a frozen encoder: computed once, kept without padding, handed out in batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import pad_batch, token_budget_batches
from dlfa_adapters.data.windows import Window


@dataclass(frozen=True)
class HiddenStates:
    """All hidden states of a list of windows.

    Attributes:
        tokens: (tokens, layers + 1, width) in 16 bits, window after window. Entry k on the second axis is
            `hidden_states[k]`, the last one `last_hidden_state`.
        offsets: Where each window starts in `tokens`; one more entry than windows.
    """

    tokens: Tensor
    offsets: list[int]

    @property
    def num_layers(self) -> int:
        """Number of blocks L."""
        return self.tokens.shape[1] - 1

    @property
    def device(self) -> torch.device:
        """Where the states are kept; heads are trained there."""
        return self.tokens.device

    def lengths(self) -> list[int]:
        """Number of tokens of each window, special ones included."""
        return [stop - start for start, stop in zip(self.offsets, self.offsets[1:], strict=False)]

    def batch(self, indices: Sequence[int], layers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """States of some windows, padded on the right with zeros.

        Args:
            indices: Which windows.
            layers: Which states.

        Returns:
            States in float32, (len(layers), batch, seq, width), and the attention mask, (batch, seq).
        """
        starts = torch.tensor([self.offsets[i] for i in indices]).unsqueeze(1)
        lengths = torch.tensor([self.offsets[i + 1] - self.offsets[i] for i in indices]).unsqueeze(1)
        column = torch.arange(int(lengths.max())).unsqueeze(0)
        mask = (column < lengths).to(self.device)
        rows = (starts + column.minimum(lengths - 1)).to(self.device)  # padding repeats the last token, then goes
        picked = self.tokens[rows][:, :, list(layers)].permute(2, 0, 1, 3).float()
        return picked.masked_fill_(~mask[None, :, :, None], 0), mask.long()


@torch.no_grad()
def compute_states(
    model: Any,
    windows: Sequence[Window],
    pad_token_id: int,
    *,
    max_tokens: int = 4096,
    keep_on: str | torch.device = "cpu",
    on_progress: Callable[[int], None] | None = None,
) -> HiddenStates:
    """Run a frozen encoder once over all windows, by length under a token budget.

    Args:
        model: An encoder (or adapter model, whose heads are left out) in eval mode.
        windows: What to encode.
        pad_token_id: The tokenizer's.
        max_tokens: Positions in a batch, padding included.
        keep_on: Device for the states: (L + 1) * width * 2 bytes a token, 10 kB for 12 layers of width 384.
        on_progress: Called with the number of windows that were just done.

    Returns:
        The states, in the order of `windows`.
    """
    encoder = model.base_model
    offsets = [0]
    for window in windows:
        offsets.append(offsets[-1] + len(window.input_ids))
    shape = (offsets[-1], encoder.config.num_hidden_layers + 1, encoder.config.hidden_size)
    tokens = torch.empty(shape, dtype=torch.float16, device=keep_on)
    for batch in token_budget_batches([len(window.input_ids) for window in windows], max_tokens):
        inputs = pad_batch([windows[i] for i in batch], pad_token_id)
        inputs = {name: tensor.to(encoder.device) for name, tensor in inputs.items()}
        outputs = encoder(**inputs, output_hidden_states=True, return_dict=True)
        states = torch.stack([*outputs.hidden_states[:-1], outputs.last_hidden_state], dim=2).to(keep_on, torch.float16)
        for row, index in enumerate(batch):
            length = len(windows[index].input_ids)
            tokens[offsets[index] : offsets[index] + length] = states[row, :length]
        if on_progress is not None:
            on_progress(len(batch))
    return HiddenStates(tokens, offsets)
