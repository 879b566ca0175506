"""What stands between fusion and linear map: a bidirectional LSTM over the tokens, and one state for a whole text."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dlfa_adapters.fusion.aif import mean_over_tokens
from dlfa_adapters.fusion.options import one_of

CLASSIFIERS = ("linear", "bilstm")
"""`linear`: linear maps alone; `bilstm`: a two-layer bidirectional LSTM in front of them."""


class BiLSTM(nn.Module):
    """A two-layer bidirectional LSTM (Wu and Dredze 2019, arXiv 1904.09077, their models on frozen features).

    Only real tokens are read, in their order: the result at a token depends neither on padding nor on its side.

    Args:
        width: Width of the states.
        hidden: Units a direction and layer; the result is twice as wide.
        dropout: Between the two layers.

    Raises:
        ValueError: If a value cannot work.
    """

    def __init__(self, width: int, hidden: int = 256, dropout: int | float = 0.1) -> None:
        super().__init__()
        if isinstance(hidden, bool) or not isinstance(hidden, int) or hidden < 1:
            raise ValueError(f"lstm_hidden must be a whole number from 1 up, got {hidden!r}; type lstm_hidden=256.")
        if not 0 <= dropout < 1:
            raise ValueError(f"lstm_dropout must lie in 0..1, 1 left out, got {dropout!r}; type lstm_dropout=0.1.")
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True, dropout=dropout, bidirectional=True)

    def forward(
        self, states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq out"]:
        """Read the tokens in both directions.

        Args:
            states: Fused states, (batch, seq, width).
            attention_mask: Non-zero at real tokens, (batch, seq). Without it all are.

        Returns:
            (batch, seq, 2 * hidden), zeros at padding.
        """
        if attention_mask is None:
            return self.lstm(states)[0]
        real = attention_mask != 0
        places = torch.arange(states.shape[1], device=states.device)
        # Real tokens to the left, in their order; no two keys are equal, because ONNX has no stable sort.
        order = torch.where(real, places, places + states.shape[1]).argsort(dim=1)[..., None]
        moved = states.gather(1, order.expand_as(states))
        lengths = real.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(moved, lengths, batch_first=True, enforce_sorted=False)
        outputs, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=states.shape[1])
        return torch.zeros_like(outputs).scatter(1, order.expand_as(outputs), outputs)

    def reset_parameters(self) -> None:
        """Draw the weights anew, as torch does: uniform, within one over the root of `hidden`."""
        self.lstm.reset_parameters()


def make_bilstm(classifier: str, width: int, hidden: int, dropout: int | float) -> BiLSTM | None:
    """The LSTM of a classifier, a name of `CLASSIFIERS`, on states of a width; None for a linear one. See `BiLSTM`.

    Raises:
        ValueError: If the name is none of them, or a value cannot work.
    """
    one_of("classifier", classifier, CLASSIFIERS)
    return BiLSTM(width, hidden, dropout) if classifier == "bilstm" else None


POOLINGS = ("first", "last", "mean")
"""Which token speaks for a text, or which piece for a word."""


def first_real_token(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None
) -> Float[Tensor, "batch width"]:
    """The state of each text's first real token: with left padding that is not the first."""
    if attention_mask is None:
        return states[:, 0]
    return _at((attention_mask != 0).to(torch.uint8).argmax(1), states)


def last_real_token(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None
) -> Float[Tensor, "batch width"]:
    """The state of each text's last real token: with right padding that is not the last."""
    if attention_mask is None:
        return states[:, -1]
    return _at(states.shape[1] - 1 - (attention_mask != 0).to(torch.uint8).flip(1).argmax(1), states)


def pool_tokens(
    states: Float[Tensor, "batch seq width"], attention_mask: Shaped[Tensor, "batch seq"] | None, pooling: str
) -> Float[Tensor, "batch width"]:
    """One state a text.

    Args:
        states: States of its tokens, (batch, seq, width).
        attention_mask: Non-zero at real tokens, (batch, seq). Without it all are.
        pooling: A name of `POOLINGS`.

    Raises:
        ValueError: If the name is none of them.
    """
    one_of("pooling", pooling, POOLINGS)
    if pooling == "mean":
        return mean_over_tokens(states, attention_mask)[0].squeeze(1)
    return (first_real_token if pooling == "first" else last_real_token)(states, attention_mask)


def _at(positions: Tensor, states: Tensor) -> Tensor:
    return states[torch.arange(states.shape[0], device=states.device), positions]
